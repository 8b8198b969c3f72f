"""Starts homeservers, runs Tests/Command/MatrixServerTests and MatrixSampleTests against them, and stops them, whatever comes
in between.

    suite [FILTER]      a regular expression; both targets without it

The tests find each homeserver by environment variables, MATRIX_PLAIN_URL and MATRIX_PLAIN_FOLDER for the profile "plain"
of homeserver.py, and so on; they may kill it and start it again with Lab/matrix/homeserver."""

import os
import re
import signal
import subprocess
import sys

from homeserver import PROFILES, ROOT, Failure, Homeserver

TEST_SECONDS = 1800


def environment(servers):
    # Stores in the default folder go with the homeserver.
    variables = dict(os.environ) | {"XDG_DATA_HOME": str(servers["plain"].folder / "data")}
    for name, server in servers.items():
        variables[f"MATRIX_{name.upper()}_URL"] = server.url
        variables[f"MATRIX_{name.upper()}_FOLDER"] = str(server.folder)
    return variables


def run_tests(pattern, servers):
    """The status of the test run. Its output passes through, and its last word is repeated at the end."""
    process = subprocess.Popen(["swift", "test", "--skip-build", "--filter", pattern], cwd=ROOT,
                               env=environment(servers), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True)
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"matrix-test: not done after {TEST_SECONDS} s"))
    signal.alarm(TEST_SECONDS)
    counts = "no test was run"
    try:
        for line in process.stdout:
            print(line, end="", flush=True)
            if found := re.search(r"Test run with .*", line):
                counts = found[0]
        status = process.wait()
        return 1 if status == 0 and re.search(r"^no test|with 0 tests", counts) else status
    finally:
        signal.alarm(0)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # its session: what it has started too
        print(f"matrix-test: {counts}", flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if subprocess.run(["swift", "build", "--quiet", "--build-tests"], cwd=ROOT).returncode != 0:
        return "matrix-test: the tests cannot be built"
    servers = {}
    try:
        # One after the other: whatever interrupts this, all that were started are known.
        for name, overrides in PROFILES.items():
            servers[name] = Homeserver.new(overrides=overrides)
            print(f"matrix-test: {name}: {servers[name].url}, {servers[name].folder}", flush=True)
        status = run_tests(sys.argv[1] if len(sys.argv) > 1 else "MatrixServerTests|MatrixSampleTests", servers)
        if status != 0:
            for name, server in servers.items():
                print(f"matrix-test: the end of the log of {name}:\n{server.log_end()}", flush=True)
        return status
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # a second one would leave homeservers behind; this takes seconds
        for server in servers.values():
            server.stop()
            server.remove()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"matrix-test: {failure}")
