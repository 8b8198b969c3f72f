"""Answers of a homeserver's /sync: the first one of an account, of about 10 MB, and the small ones that follow."""

import subprocess
import sys
from collections import defaultdict

from programs import BUILD, CONFIGURATION, ROOT, ROUNDS, build_product, measure, run
from report import Aim, Line, cost_ratios

sys.path.append(str(ROOT / "Lab/Benchmarks/Matrix"))
DATA = BUILD / "matrix"
INITIAL, INCREMENTAL = DATA / "initial.json", DATA / "incremental.jsonl"


def build():
    """Only what this section needs."""
    BUILD.mkdir(parents=True, exist_ok=True)
    build_product("MatrixBench")


def install_peers():
    """A Python that has them, or None."""
    try:
        return run(ROOT / "Lab/matrix/environment", stdout=subprocess.PIPE, text=True).stdout.strip()
    except subprocess.CalledProcessError:
        return None


def ours(kind):
    return measure(ROOT / ".build" / CONFIGURATION / "MatrixBench", "initial", INITIAL, "incremental", INCREMENTAL, "kind", kind)


def peer(python, name):
    return measure(python, ROOT / "Lab/bench/matrix_peers.py", name, INITIAL, INCREMENTAL)


def bench(report):
    import generate
    sizes = generate.generate(DATA)
    python = install_peers()
    jobs = {kind: lambda kind=kind: ours(kind) for kind in ("parse", "read", "apply")}
    if python:
        jobs["orjson"] = lambda: peer(python, "orjson")
        jobs["nio"] = lambda: peer(python, "nio")
    results = defaultdict(list)
    for _ in range(ROUNDS):
        for name, job in jobs.items():
            results[name].append(job())
    if results["parse"][0]["events"] != sizes["initial"]["events"]:
        sys.exit("bench: not every event of the initial sync was found")

    initial, incremental = sizes["initial"], sizes["incremental"]
    report.section(f"matrix: initial sync, {initial['bytes'] / 1e6:.1f} MB, {initial['rooms']} rooms, "
                   f"{initial['events']:,} events")
    costs(report, results, "initial", lambda result: result["seconds"] * 1e3, "CPU ms", bool(python))
    memory(report, results, bool(python))
    report.section(f"matrix: {incremental['answers']} incremental syncs, {incremental['events']:,} events")
    costs(report, results, "incremental", lambda result: result["incremental_seconds"] / result["answers"] * 1e6,
          "CPU µs/sync", bool(python))
    if not python:
        report.note("peers: matrix-nio and orjson cannot be had from PyPI: skipped")


def costs(report, results, which, cost, unit, has_peers):
    values = {name: [cost(result) for result in rounds] for name, rounds in results.items()}
    key = f"matrix_{which}_{{}}_{'milliseconds' if unit == 'CPU ms' else 'microseconds'}"
    if has_peers:
        report.add(Line(key.format("orjson"), "peer: orjson, parsed to Python's objects", values["orjson"], unit))
    for kind, name in (("parse", "parsed; contents stay bytes"),
                       ("read", "and type, sender, id and body of all events read"),
                       ("apply", "parsed, and applied to a session's rooms and store")):
        beside = {"ratios": cost_ratios(values[kind], values["orjson"]), "beside": "orjson"} if has_peers else {}
        report.add(Line(key.format(kind), name, values[kind], unit, **beside,
                        aims=(Aim("<=", 2.5),) if has_peers and kind == "apply" else ()))
    if has_peers:
        report.add(Line(key.format("nio"), "peer: matrix-nio, parsed and applied to its rooms", values["nio"], unit,
                        cost_ratios(values["nio"], values["apply"]), "ours, applied", (Aim(">=", 7),)))


def memory(report, results, has_peers):
    names = {"parse": "memory, the body's included: parsed", "apply": "memory, the body's included: applied"}
    if has_peers:
        names |= {"orjson": "memory: orjson", "nio": "memory: matrix-nio"}
    for name, text in names.items():
        peaks = [result["peak_bytes"] for result in results[name]]
        bodies = [result["body_bytes"] for result in results[name]]
        report.add(Line(f"matrix_initial_{name}_peak_bytes", text, peaks, "bytes", cost_ratios(peaks, bodies),
                        "the body", (Aim("<=", 3),) if name == "apply" else ()))
