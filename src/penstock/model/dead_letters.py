"""Headers of dead letters, and of records that are sent again from there."""

from __future__ import annotations

#: Beginning of Kafka Streams' headers of a dead letter.
CAUSE = "__streams.errors."
#: Beginning of Penstock's own headers of a dead letter: the node, and the code of the error.
ORIGIN = "__penstock.errors."
#: Beginning of the headers of a record that was sent again: by whom, when, and from where.
REDRIVE = "__penstock.redrive."
