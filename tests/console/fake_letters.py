"""Records of the shop that have failed: a field that is missing, JSON that is cut off."""

from __future__ import annotations

import json

import penstock as ps
from penstock.serde.serdes import Serdes
from penstock.serving.failed.values import Letter, SourceSerdes
from tests.unit.serving.memory_letters import MemoryLetters, letter

FILTER, SOURCE = "KSTREAM-FILTER-0000000005", "KSTREAM-SOURCE-0000000000"


class ShopLetters(MemoryLetters):
    """Dead letters of the shop, with the lines of its program."""

    topic = "orders-dead"

    def __init__(self, topology: ps.Topology, now_ms: int) -> None:
        self._graph = topology.graph
        super().__init__(*_letters(now_ms))
        self.known = {
            "orders": SourceSerdes(key=Serdes.string(), value=Serdes.json()),
            "customers": SourceSerdes(key=Serdes.string(), value=Serdes.json()),
        }

    def site(self, node: str) -> str | None:
        known = self._graph.nodes.get(node)
        return None if known is None else known.site


def _letters(now_ms: int) -> list[Letter]:
    found = []
    for number in range(7):
        order = {"sum": 20 + number, "product": f"p-{number}", "country": "nl"}
        found.append(
            letter(
                number, _missing(order), node=FILTER, key=b"o-%d" % (4_100 + number),
                value=json.dumps(order).encode(), headers=(("trace", b"4bf92f35"),),
            )
        )  # fmt: skip
    for number in (7, 8):
        value = b'{"amount": 12.5, "product": "p-%d"' % number
        broken = ValueError("unexpected end of data: line 1 column 36")
        key = b"o-%d" % (4_100 + number)
        found.append(letter(number, broken, node=SOURCE, key=key, value=value))
    return [_at(each, now_ms - 45_000 * (9 - each.offset)) for each in found]


def _at(given: Letter, time_ms: int) -> Letter:
    return Letter(
        partition=given.partition, offset=given.offset, timestamp=time_ms, key=given.key,
        value=given.value, headers=given.headers,
    )  # fmt: skip


def _missing(order: dict[str, object]) -> Exception:
    try:
        order["amount"]
    except KeyError as error:
        return error
    raise AssertionError
