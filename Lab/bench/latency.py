"""From before a sender writes an event until the receiver has it, on an idle connection."""

from collections import defaultdict

from programs import BUILD, ROUNDS, few, output_of, serving, swift_command
from report import Aim, Line, cost_ratios

EVENTS = few(10_000)  # one a millisecond
PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99_9": 0.999}
AIMS = {"p50": (Aim("<=", 1.5),), "p99": (Aim("<=", 2),), "p99_9": ()}


def percentiles(command_for):
    with serving(BUILD / "source", EVENTS, "timed") as server:
        samples = sorted(int(line) / 1000 for line in output_of(*command_for(server.port)).split())
    return {name: samples[int(part * len(samples))] for name, part in PERCENTILES.items()}


def bench(report):
    receivers = {
        "floor": lambda port: (BUILD / "receiver", port, EVENTS),
        "callback": lambda port: swift_command("LatencyBench", port=port, events=EVENTS),
        "inline": lambda port: swift_command("LatencyBench", port=port, events=EVENTS, delivery="inline"),
    }
    results = defaultdict(list)
    for _ in range(ROUNDS):
        for name, command_for in receivers.items():
            results[name].append(percentiles(command_for))

    report.section("latency: one way, 1,000 events a second")
    for percentile in PERCENTILES:
        title = percentile.replace("_", ".")
        floor = [result[percentile] for result in results["floor"]]
        report.add(Line(f"floor_latency_{percentile}_microseconds", f"floor, {title}: epoll_wait and recv in C", floor,
                        "us"))
        for name in ("callback", "inline"):
            values = [result[percentile] for result in results[name]]
            report.add(Line(f"latency_{name}_{percentile}_microseconds", f"{name}, {title}", values, "us",
                            cost_ratios(values, floor), "floor", AIMS[percentile] if name == "callback" else ()))
