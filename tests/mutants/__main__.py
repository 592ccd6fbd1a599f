"""The command: ``python -m tests.mutants``. Exit 0: all noticed or known, 1: a fault survived.

Plants one fault at a time in a private copy of the package, runs the tests that are to notice
it, and says which test did. The working tree is never touched.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.faults import Fault, find_faults
from tests.mutants.sandbox import PROJECT, Result, Sandbox, Verdict
from tests.mutants.suites import AREAS, Area, area_of
from tests.mutants.survivors import difference, entry, reasons, stale

_RESULTS, _DIFFS = "results.jsonl", "survivors.diff"


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    names = _names(options.areas, options.files)
    sources = {name: (PROJECT / "src" / name).read_text(encoding="utf-8") for name in names}
    faults = {n: find_faults(text, _dotted(n)) for n, text in sources.items()}
    chosen = _chosen(faults, options)
    if options.list:
        for name, fault in chosen:
            print(f"{name}:{fault.number} {fault.kind}: {fault.change}")
        return 0
    known = reasons()
    options.out.mkdir(parents=True, exist_ok=True)
    results = _run_all(chosen, options, known)
    _write(options.out, results, sources, known)
    every = [fault for found in faults.values() for fault in found]
    modules = {_dotted(name) for name in names}
    for lost in stale([each for each in known if each[0] in modules], every):
        print(f"mutants: no longer in the source: {lost[0]} {lost[1]}: {lost[4]}")
    return _report(results, known, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    areas = ", ".join(area.name for area in AREAS)
    parser.add_argument("areas", nargs="*", help=f"some of: {areas}; all if none is named")
    parser.add_argument("--files", default="*", help="a pattern such as '*/window_*'")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other faults")
    parser.add_argument("--count", type=int, default=40, help="how many faults; 0: every one")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first of them")
    parser.add_argument("--steps", type=int, help="only so many of the area's calls of pytest")
    parser.add_argument("--quick", action="store_true", help="only the tests that notice most")
    parser.add_argument("--hurry", action="store_true", help="trust that the tests pass still")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--known", action="store_true", help="only those of survivors.toml")
    parser.add_argument("--again", action="store_true", help="only those that survived last time")
    parser.add_argument("--list", action="store_true", help="print the faults and plant none")
    out = PROJECT / "build" / "mutants"
    parser.add_argument("--out", type=Path, default=out, help="the folder for results and diffs")
    return parser


def _names(areas: list[str], pattern: str) -> list[str]:
    """Return the source files of these areas, relative to the source folder."""
    unknown = {*areas} - {area.name for area in AREAS}
    if unknown:
        raise SystemExit(f"mutants: no area is called {', '.join(sorted(unknown))}")
    found = []
    for path in sorted((PROJECT / "src" / "penstock").rglob("*.py")):
        area = area_of(name := path.relative_to(PROJECT / "src").as_posix())
        if area is not None and path.match(pattern) and (not areas or area.name in areas):
            found.append(name)
    return found


def _dotted(name: str) -> str:
    return name.removesuffix(".py").replace("/", ".")


def _chosen(faults: dict[str, list[Fault]], options: argparse.Namespace) -> list[tuple[str, Fault]]:
    every = [(name, fault) for name, found in faults.items() for fault in found]
    if options.again:
        lines = (options.out / _RESULTS).read_text(encoding="utf-8").splitlines()
        last = {tuple(e["id"]) for e in map(json.loads, lines) if e["verdict"] == "survived"}
        return [each for each in every if each[1].id in last]
    if options.known:
        return [each for each in every if each[1].id in reasons()]
    return _sample(every, options.seed, options.count or len(every))[options.skip :]


def _sample(every: list[tuple[str, Fault]], seed: int, count: int) -> list[tuple[str, Fault]]:
    """Take faults of all kinds in turn: most are of a kind that any test notices."""
    by_kind: dict[str, list[tuple[str, Fault]]] = {}
    for name, fault in every:
        by_kind.setdefault(fault.kind, []).append((name, fault))
    chance = random.Random(seed)
    for found in by_kind.values():
        chance.shuffle(found)
    turns = zip_longest(*(by_kind[kind] for kind in sorted(by_kind)))
    return [each for turn in turns for each in turn if each is not None][:count]


def _run_all(
    chosen: list[tuple[str, Fault]], options: argparse.Namespace, known: dict[tuple[str, ...], str]
) -> list[tuple[str, Fault, Result]]:
    """Plant all faults, in several copies at a time, and print each result as it comes."""
    by_area: dict[Area, list[tuple[str, Fault]]] = {}
    for name, fault in chosen:
        area = area_of(name)
        assert area is not None
        if options.quick or options.steps:
            area = replace(area, steps=area.steps[: options.steps or 2], on_spark=())
        by_area.setdefault(area, []).append((name, fault))
    results: list[tuple[str, Fault, Result]] = []
    boxes = [Sandbox() for _ in range(options.jobs)]
    try:
        for area, faults in by_area.items():
            durations = _durations(boxes[0], area, options)
            for box in boxes[1:]:
                box.use(area, durations)
            free: SimpleQueue[Sandbox] = SimpleQueue()
            for box in boxes:
                free.put(box)
            with ThreadPoolExecutor(options.jobs) as pool:
                tried = [pool.submit(_try, free, *each) for each in faults]
                for done in as_completed(tried):
                    results.append(done.result())
                    _show(f"[{len(results)}/{len(chosen)}]", *results[-1], known)
    finally:
        for box in boxes:
            box.close()
    return results


def _durations(box: Sandbox, area: Area, options: argparse.Namespace) -> dict[str, float]:
    """Run the tests of an area without a fault, or remember how long they took the last time."""
    file: Path = options.out.parent / f"durations-{area.name}.json"
    if options.hurry and file.exists():
        return box.use(area, json.loads(file.read_text(encoding="utf-8")))
    print(f"mutants: the tests of {area.name} run without a fault", flush=True)
    found = box.use(area)
    file.write_text(json.dumps(found), encoding="utf-8")
    return found


def _try(free: SimpleQueue[Sandbox], name: str, fault: Fault) -> tuple[str, Fault, Result]:
    box = free.get()
    try:
        return name, fault, box.try_fault(fault, name)
    finally:
        free.put(box)


def _show(
    at: str, name: str, fault: Fault, result: Result, known: dict[tuple[str, ...], str]
) -> None:
    verdict = "known" if _is_known(fault, result, known) else result.verdict.value
    print(f"{at} {verdict} {result.seconds:.0f} s {name}:{fault.number} {fault.function}")
    print(f"    {fault.kind}: {fault.change}")
    if result.by:
        print(f"    by {result.by}")
    sys.stdout.flush()


def _is_known(fault: Fault, result: Result, known: dict[tuple[str, ...], str]) -> bool:
    return result.verdict is Verdict.SURVIVED and fault.id in known


def _write(
    out: Path,
    results: list[tuple[str, Fault, Result]],
    sources: dict[str, str],
    known: dict[tuple[str, ...], str],
) -> None:
    with (out / _RESULTS).open("w", encoding="utf-8") as file:
        for _, fault, result in results:
            row = {"id": fault.id, "verdict": result.verdict.value, "by": result.by}
            file.write(json.dumps(row) + "\n")
    with (out / _DIFFS).open("w", encoding="utf-8") as file:
        for name, fault, result in results:
            if result.verdict is Verdict.SURVIVED:
                why = f"# known: {known[fault.id]}\n" if fault.id in known else entry(fault)
                file.write(f"{why}{difference(fault, name, sources[name])}\n")


def _report(
    results: list[tuple[str, Fault, Result]], known: dict[tuple[str, ...], str], out: Path
) -> int:
    counts: Counter[str] = Counter(
        "known" if _is_known(fault, result, known) else result.verdict.value
        for _, fault, result in results
    )
    noticed = counts["noticed"] + counts["timed out"]
    share = 100 * noticed / len(results) if results else 100.0
    print(
        f"mutants: {len(results)} faults, {noticed} noticed ({share:.0f} %,"
        f" {counts['timed out']} of them by a time limit), {counts['known']} known to survive,"
        f" {counts['survived']} survived; see {out / _DIFFS}"
    )
    return 1 if counts["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
