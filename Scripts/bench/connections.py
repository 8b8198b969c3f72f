"""Many connections in one process: memory, time to connect all, CPU when idle; beside libcurl's handles alone."""

import resource
from collections import defaultdict

from programs import BUILD, ROUNDS, measure, serving, swift_command
from report import Aim, Line, cost_ratios

COUNTS = 100, 1_000, 10_000
IDLE_SECONDS = 5


def one_run(count):
    """Ours and libcurl's own, each with a server of its own."""
    idle = IDLE_SECONDS if count == COUNTS[-1] else 0
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
            results[count].append(one_run(count))

    for count in counts:
        suffix = "" if count == 1_000 else f"_{count}"
        ours, handles = zip(*results[count])
        memory = [result["rss_per_connection_bytes"] for result in ours]
        floor = [result["rss_per_connection_bytes"] for result in handles]
        beyond = [mine - other for mine, other in zip(memory, floor)]
        seconds = [result["connect_seconds"] for result in ours]
        floor_seconds = [result["connect_seconds"] for result in handles]
        report.add(Line(f"libcurl_rss_per_connection{suffix}_bytes", f"floor, {count:,}: libcurl's handles, memory each",
                        floor, "bytes"))
        report.add(Line(f"rss_per_connection{suffix}_bytes", f"{count:,} clients, memory each", memory, "bytes",
                        cost_ratios(memory, floor), "floor"))
        report.add(Line(f"rss_per_connection_beyond_libcurl{suffix}_bytes", f"{count:,} clients, each beyond libcurl's",
                        beyond, "bytes", aims=(Aim("<=", 24 << 10, of_ratio=False),)))
        report.add(Line(f"connect{suffix}_seconds", f"{count:,} clients, until all are connected", seconds, "s",
                        cost_ratios(seconds, floor_seconds), "libcurl's handles"))
        if idle_is_measured(count):
            report.add(Line(f"idle{suffix}_cpu_seconds", f"{count:,} clients, CPU in {IDLE_SECONDS} idle seconds",
                            [result["idle_cpu_seconds"] for result in ours], "CPU s",
                            aims=(Aim("<=", 0.001, of_ratio=False),)))
    if len(counts) > 1:
        few, many = counts[-2], counts[-1]
        each = {count: [ours["connect_cpu_seconds"] / count * 1e6 for ours, _ in results[count]] for count in (few, many)}
        report.add(Line("connect_cpu_microseconds_each", f"CPU of connecting one of {many:,}", each[many], "CPU us",
                        cost_ratios(each[many], each[few]), f"one of {few:,}", (Aim("<=", 1.2),)))


def idle_is_measured(count):
    return count == COUNTS[-1]
