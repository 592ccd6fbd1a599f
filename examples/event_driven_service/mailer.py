"""The service: reads the anomalies that SQL has found, and writes to the owners of the cards.

It is a program of its own and knows only the topic. Run it beside the script:
``penstock run examples/event_driven_service/mailer.py --bootstrap localhost:9092``
"""

from typing import Any

import penstock as ps

config = {"application.id": "mailer"}


def letter(anomaly: dict[str, Any]) -> dict[str, str]:
    """Return the mail about one anomaly."""
    card = anomaly["CARD_NUMBER"]
    return {
        "to": anomaly["EMAIL_ADDRESS"],
        "subject": f"Your card ending in {card[-4:]}",
        "text": f"It was used {anomaly['N_ATTEMPTS']} times within 30 seconds,"
        f" for {anomaly['TOTAL_AMOUNT']} in all. If that was not you, call us.",
    }


def build() -> ps.Topology:
    builder = ps.StreamsBuilder()
    # The keys are windows: a new one is another anomaly, the same one again is not.
    keys = ps.WindowedSerdes.time_windowed("string", "30s")
    anomalies = builder.stream("possible-anomalies", key=keys, value="json")
    real = anomalies.filter(lambda window, anomaly: anomaly is not None)
    # A fourth use of the card changes the row; its owner has been told already.
    first = real.deduplicate_by_key("1h", name="told")
    mails = first.map(lambda window, anomaly: (anomaly["EMAIL_ADDRESS"], letter(anomaly)))
    mails.to("mails", key="string", value="json")
    return builder.build()
