"""Matrix's store in files: an initial sync, incremental ones, and the start with 1,000 rooms."""

from collections import defaultdict

from programs import BUILD, ROUNDS, few, measure, swift_command
from report import Aim, Line

FIGURES = (
    ("initial_commit_ms", "initial sync of 25,000 events, 200 rooms", 500),
    ("initial_commit_cpu_ms", "the same, CPU", None),
    ("incremental_commit_ms", "incremental sync, an event in each of 10 rooms", None),
    ("incremental_commit_cpu_ms", "the same, CPU", None),
    ("open_ms", "start with 1,000 rooms", 200),
    ("open_cpu_ms", "the same, CPU", None),
    ("read_20_events_ms", "20 events of a timeline", None),
    ("read_state_ms", "state of a room, 50 members", None),
)


def bench(report):
    report.section("Matrix's store, milliseconds")
    values = defaultdict(list)
    for _ in range(ROUNDS):
        figures = measure(*swift_command("MatrixStoreBench", rounds=1, rooms=few(1000), folder=BUILD / "matrix-store"))
        for key, _, _ in FIGURES:
            values[key].append(figures[key])
    for key, name, aim in FIGURES:
        aims = (Aim("<=", aim, of_ratio=False),) if aim else ()
        report.add(Line(f"matrix_store_{key.removesuffix('_ms')}_milliseconds", name, values[key], "ms", aims=aims))
