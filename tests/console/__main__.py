"""Serve the console over a made-up application: ``python -m tests.console [--mood behind]``."""

from __future__ import annotations

import argparse
import time

from penstock.serving.options import ServerOptions
from penstock.serving.server import ServingServer
from tests.console.fake_application import FakeApplication, Mood
from tests.console.shop import large


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mood", choices=list(Mood), default=Mood.WELL, type=Mood)
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--large", action="store_true", help="show a topology of 133 nodes")
    given = parser.parse_args()
    application = FakeApplication(given.mood, large() if given.large else None)
    with ServingServer(application, ServerOptions(port=given.port)) as server:
        print(f"{server.url}/console/", flush=True)
        while True:
            time.sleep(0.7)
            application.tick()


if __name__ == "__main__":
    main()
