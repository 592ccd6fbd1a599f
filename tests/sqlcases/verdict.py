"""What became of a case: nothing to say means that it agrees."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.errors import PenstockError
from tests.sqlcases.cases import Case
from tests.sqlcases.exceptions import reason_for


@dataclass(slots=True)
class Verdict:
    """What a case gave: nothing to say means that it agrees."""

    file: str
    name: str
    problems: list[str] = field(default_factory=list)
    #: Whether some batch ran over columns.
    ran_over_columns: bool = False

    @property
    def agrees(self) -> bool:
        return not self.problems

    @property
    def reason(self) -> str | None:
        """Why the case may disagree; None if it agrees or must not."""
        return reason_for(self.file, self.name, self.problems)


def guarded(case: Case, problems: Callable[[], list[str]]) -> Verdict:
    """Gives the verdict of a run; whatever goes wrong is a problem, never an exception."""
    verdict = Verdict(case.file, case.name)
    try:
        verdict.problems.extend(problems())
    # The runner must go on with the other cases, whatever one of them does.
    except Exception as error:  # noqa: BLE001
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
        kind = "refused" if isinstance(error, PenstockError) else f"internal {type(error).__name__}"
        verdict.problems.append(f"{kind}: {str(error)[:400]} ({where})")
    return verdict
