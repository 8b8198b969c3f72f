"""How long `pusher-cli subscribe` takes from its start to its first event, and how large it is."""

import subprocess
import time
from collections import defaultdict

from programs import BUILD, CLI, few, serving
from report import Line, cost_ratios

RUNS = few(21)


def milliseconds(*command):
    """Until the first line, or the end of what prints nothing."""
    start = time.perf_counter()
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        elapsed = time.perf_counter() - start
        process.kill()
    return elapsed * 1000


def bench(report):
    values = defaultdict(list)
    with serving(BUILD / "source", 1, "timed") as server:
        commands = {
            "true": ("/bin/true",),
            "receiver": (BUILD / "receiver", server.port, 1),
            "version": (CLI, "--version"),
            "subscribe": (CLI, "subscribe", "c0", "--key", "app-key", "--host", "127.0.0.1",
                          "--port", server.port, "--no-tls"),
        }
        for _ in range(RUNS):
            for name, command in commands.items():
                values[name].append(milliseconds(*command))

    report.section(f"start, {RUNS} runs")
    report.add(Line("start_true_milliseconds", "floor: /bin/true", values["true"], "ms"))
    report.add(Line("start_receiver_milliseconds", "floor: a C program's first event", values["receiver"], "ms"))
    report.add(Line("start_version_milliseconds", "pusher-cli --version", values["version"], "ms",
                    cost_ratios(values["version"], values["true"]), "/bin/true"))
    report.add(Line("start_subscribe_milliseconds", "pusher-cli subscribe, to its first event",
                    values["subscribe"], "ms", cost_ratios(values["subscribe"], values["receiver"]), "C program"))
    report.add(Line("binary_bytes", "pusher-cli, stripped, with Swift's libraries", [CLI.stat().st_size], "bytes"))
