"""The programs that are tested, and those that they need."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from signal import SIGCONT, SIGSTOP, SIGTERM

from cluster import wait

ROOT = Path(__file__).resolve().parent.parent.parent
APP, KEY, SECRET = "app", "key", "relay-test-secret"

STARTED = re.compile(r"relaying ((?:pusher|matrix|pydio):\S+), term (\d+)")
RESTART_PAUSE = 1  # seconds, when one ends by itself, as a service would be restarted


class Program:
    """One command, which is started again and again; each time with a log of its own."""

    pusher_cli = None  # set at the start
    network = None

    def __init__(self, folder, name, *arguments, command=None, machine=None, home=None):
        """machine: where it runs, None for here. home: of the user that it runs for."""
        self.folder, self.name, self.arguments = folder, name, arguments
        self.command, self.machine, self.home = command or self.pusher_cli, machine, home or folder
        self.count, self.process, self.is_stopped, self.is_cut = 0, None, False, False
        self.exits = []  # those that nobody asked for
        self.is_wanted = False

    def start(self, text=None):
        """text: what it reads."""
        self.is_wanted = True
        self.count += 1
        self.id = f"{self.name}.{self.count}"
        self.log, self.output = self.folder / f"{self.id}.log", self.folder / f"{self.id}.out"
        with self.log.open("w") as log, self.output.open("w") as output:
            self.process = subprocess.Popen(
                self.network.command(self.machine, [self.command, *map(str, self.arguments)]), start_new_session=True,
                stdin=subprocess.DEVNULL if text is None else subprocess.PIPE, stdout=output, stderr=log,
                env=environment(self.home))
        if text is not None:
            self.process.stdin.write(text.encode())
            self.process.stdin.close()
        threading.Thread(target=self.watch, args=(self.process,), daemon=True).start()

    def watch(self, process):
        status = process.wait()
        if self.process is process and self.is_wanted:
            self.exits.append((time.time(), self.id, status))
            time.sleep(RESTART_PAUSE)
            if self.process is process and self.is_wanted:
                self.start()

    @property
    def is_running(self):
        return self.is_wanted and self.process.poll() is None and not self.is_stopped and not self.is_cut

    def kill(self):
        self.is_wanted = False
        if self.process:
            self.process.kill()
            self.process.wait()
        self.is_stopped = False

    def pause(self):
        self.is_stopped = True
        self.process.send_signal(SIGSTOP)

    def restart(self):
        self.start()

    def resume(self):
        self.process.send_signal(SIGCONT)
        self.is_stopped = False

    def leave(self, number=SIGTERM, within=60):
        """How long it took to end; None if it had to be killed."""
        self.is_wanted = False
        start = time.monotonic()
        self.process.send_signal(number)
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        return time.monotonic() - start

    def logs(self):
        """Of each process, its name and log."""
        for number in range(1, self.count + 1):
            yield f"{self.name}.{number}", self.folder / f"{self.name}.{number}.log"

    def outputs(self):
        for number in range(1, self.count + 1):
            yield self.folder / f"{self.name}.{number}.out"


class Listener(Program):
    """One that says where it listens, and goes on there when it is started again."""

    def __init__(self, folder, name, *arguments, host, **more):
        super().__init__(folder, name, *arguments, "--host", host, "--port", 0, **more)
        self.port = None

    def wait_until_listening(self):
        def listens():
            line, end, _ = self.output.read_text().partition("\n")
            if "listening on" in line and end:
                self.port = int(line.rsplit(":", 1)[1])
            return self.port is not None
        if not wait(listens, 20):
            sys.exit(f"relay-test: {self.name} does not start, see {self.log}")
        self.arguments = (*self.arguments[:-1], self.port)


def records(path):
    """Those of JSON lines; one that a kill has cut off was not written."""
    for line in path.open(errors="replace"):
        if line.endswith("\n"):
            yield json.loads(line)


def environment(home):
    """Without contexts, proxies and credentials of whoever runs the test."""
    kept = {name: value for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith(("PUSHER_", "NATS_", "XDG_"))}
    return kept | {"HOME": str(home), "PUSHER_SECRET": SECRET, "PUSHER_APP_ID": APP, "PUSHER_KEY": KEY}
