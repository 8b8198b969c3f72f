"""Plays servers, networks and clients that mean harm against pusher-cli:  hostile.py PUSHER_CLI [--short] [NAME…]

Each NAME selects the scenarios that have it in their name."""

import concurrent.futures
import os
import sys
import tempfile
from pathlib import Path

import subject
from measure import now
from report import Report
from scenario import SCENARIOS, Trial

import auth  # noqa: F401  each registers its scenarios
import gateway  # noqa: F401
import handshake  # noqa: F401
import http_api  # noqa: F401
import matrix  # noqa: F401
import messages  # noqa: F401
import mock_server  # noqa: F401
import network  # noqa: F401
import pydio  # noqa: F401
import websocket  # noqa: F401

AT_ONCE = 6  # scenarios that wait most of the time


def chosen(names, is_short):
    return [scenario for scenario in SCENARIOS
            if (not names or any(name in scenario.name for name in names)) and (scenario.is_smoke or not is_short)]


def play(scenario, is_short, report):
    if scenario.needs_namespace and not os.environ.get("HOSTILE_NAMESPACE"):
        return report.skip(scenario, "this system permits no namespaces")
    trial = run(scenario, is_short)
    if trial.is_only_late:
        report.add(run(scenario, is_short), "at the second try; at the first " + "; ".join(trial.delays))
    else:
        report.add(trial)


def run(scenario, is_short):
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        return Trial(scenario, Path(folder), is_short).run()


def main():
    arguments = sys.argv[1:]
    is_short = "--short" in arguments
    subject.COMMAND, *names = [argument for argument in arguments if argument != "--short"]
    if not os.access(subject.COMMAND, os.X_OK):
        sys.exit(f"hostile: {subject.COMMAND} is missing: swift build --product pusher-cli")
    scenarios = chosen(names, is_short)
    if not scenarios:
        sys.exit("hostile: there is no scenario of that name")
    report = Report([scenario.name for scenario in scenarios])
    start = now()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = [pool.submit(play, scenario, is_short, report) for scenario in scenarios if scenario.is_idle]
        for scenario in scenarios:
            if not scenario.is_idle:
                play(scenario, is_short, report)
        for done in waiting:
            done.result()
    sys.exit(report.end(now() - start))


main()
