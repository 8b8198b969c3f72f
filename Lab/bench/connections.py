"""Many connections in one process: memory, time to connect all, CPU when idle; beside libcurl's handles alone."""

import resource
from collections import defaultdict

from programs import BUILD, ROUNDS, SMOKE, measure, serving, swift_command
from report import Aim, Line, cost_ratios

COUNTS = (10, 100) if SMOKE else (100, 1_000, 10_000)
IDLE_SECONDS = 5


def one_run(count, idle):
    """Ours and libcurl's own, each with a server of its own."""
    with serving(BUILD / "holder") as server:
        ours = measure(*swift_command("ConnectionBench", port=server.port, connections=count, idle=idle))
    with serving(BUILD / "holder") as server:
        return ours, measure(BUILD / "handles", server.port, count)


def bench(report):
    report.section("connections")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    counts = [count for count in COUNTS if count + 100 <= limit]
    for count in COUNTS:
        if count not in counts:
            report.note(f"{count:,} connections: skipped, a process may have {limit:,} descriptors (ulimit -Hn)")
    results = defaultdict(list)
    for _ in range(ROUNDS):
        for count in counts:
            results[count].append(one_run(count, IDLE_SECONDS if count == counts[-1] else 0))

    for count in counts:
        suffix = "" if count == 1_000 else f"_{count}"
        ours, handles = zip(*results[count])
        memory = [result["rss_per_connection_bytes"] for result in ours]
        floor = [result["rss_per_connection_bytes"] for result in handles]
        beyond = [mine - other for mine, other in zip(memory, floor)]
        seconds = [result["connect_seconds"] for result in ours]
        floor_seconds = [result["connect_seconds"] for result in handles]
        report.add(Line(f"libcurl_rss_per_connection{suffix}_bytes",
                        f"floor, {count:,}: libcurl's handles, memory each", floor, "bytes"))
        report.add(Line(f"rss_per_connection{suffix}_bytes", f"{count:,} clients, memory each", memory, "bytes",
                        cost_ratios(memory, floor), "floor"))
        report.add(Line(f"rss_per_connection_beyond_libcurl{suffix}_bytes", f"{count:,} clients, each beyond libcurl's",
                        beyond, "bytes", aims=(Aim("<=", 24 << 10, of_ratio=False),)))
        report.add(Line(f"connect{suffix}_seconds", f"{count:,} clients, until all are connected", seconds, "s",
                        cost_ratios(seconds, floor_seconds), "libcurl's handles"))
    if len(counts) > 1:
        linearity(report, results, counts)
    idle = [ours["idle_cpu_seconds"] for ours, _ in results[counts[-1]]]
    report.add(Line("idle_cpu_seconds", f"{counts[-1]:,} clients, CPU in {IDLE_SECONDS} idle seconds", idle, "CPU s",
                    aims=(Aim("<=", 0.001, of_ratio=False),)))


def linearity(report, results, counts):
    few, many = counts[-2:]
    each = {count: [ours["connect_seconds"] / count * 1e6 for ours, _ in results[count]] for count in (few, many)}
    report.add(Line("connect_microseconds_each", f"{many:,} clients, connecting, each", each[many], "us",
                    cost_ratios(each[many], each[few]), f"each of {few:,}", (Aim("<=", 1.2),)))
