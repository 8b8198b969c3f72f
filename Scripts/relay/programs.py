"""The programs that are tested, and the publisher."""

import hashlib
import hmac
import http.client
import json
import os
import re
import subprocess
import threading
import time
from signal import SIGCONT, SIGSTOP, SIGTERM

APP, KEY, SECRET = "app", "key", "relay-test-secret"
EVENTS_IN_BATCH = 10  # the most that the HTTP API takes

STARTED = re.compile(r"relays (pusher:\S+), term (\d+)")
RESTART_PAUSE = 1  # seconds, when one ends by itself, as a service would be restarted


class Program:
    """One command, which is started again and again; each time with a log of its own."""

    command = None  # set at the start
    environment = None

    def __init__(self, folder, name, *arguments):
        self.folder, self.name, self.arguments = folder, name, arguments
        self.count, self.process, self.is_stopped = 0, None, False
        self.exits = []  # those that nobody asked for
        self.is_wanted = False

    def start(self):
        self.is_wanted = True
        self.count += 1
        self.id = f"{self.name}.{self.count}"
        self.log, self.output = self.folder / f"{self.id}.log", self.folder / f"{self.id}.out"
        with self.log.open("w") as log, self.output.open("w") as output:
            self.process = subprocess.Popen(
                [self.command, *map(str, self.arguments)], start_new_session=True, stdin=subprocess.DEVNULL,
                stdout=output, stderr=log, env=self.environment)
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
        return self.is_wanted and self.process.poll() is None and not self.is_stopped

    def kill(self):
        self.is_wanted = False
        if self.process:
            self.process.kill()
            self.process.wait()
        self.is_stopped = False

    def stop(self):
        self.is_stopped = True
        self.process.send_signal(SIGSTOP)

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


def records(path):
    """Those of JSON lines; one that a kill has cut off was not written."""
    for line in path.open(errors="replace"):
        if line.endswith("\n"):
            yield json.loads(line)


class Publisher:
    """Triggers numbered events on random channels, by a schedule, over HTTP."""

    def __init__(self, port, channels, rate, random):
        self.port, self.channels, self.rate, self.random = port, channels, rate, random
        self.sent = []  # (channel, milliseconds before, milliseconds after) of each number
        self.is_ended = threading.Event()
        self.failure = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()

    def finish(self):
        self.is_ended.set()
        self.thread.join()

    def run(self):
        try:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            due = time.monotonic()
            while not self.is_ended.is_set():
                self.trigger()
                due += EVENTS_IN_BATCH / self.rate
                time.sleep(max(0, due - time.monotonic()))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.failure = str(error)

    def trigger(self):
        channels = [self.random.choice(self.channels) for _ in range(EVENTS_IN_BATCH)]
        before = time.time() * 1000
        batch = [{"channel": channel, "name": "tick",
                  "data": json.dumps({"n": len(self.sent) + index, "t": int(before)})}
                 for index, channel in enumerate(channels)]
        body = json.dumps({"batch": batch}).encode()
        path = f"/apps/{APP}/batch_events"
        query = (f"auth_key={KEY}&auth_timestamp={int(time.time())}&auth_version=1.0"
                 f"&body_md5={hashlib.md5(body).hexdigest()}")
        signature = hmac.new(SECRET.encode(), f"POST\n{path}\n{query}".encode(), hashlib.sha256).hexdigest()
        self.connection.request("POST", f"{path}?{query}&auth_signature={signature}", body,
                                {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise ValueError(f"the mock server answers {answer.status}: {text[:200]!r}")
        after = time.time() * 1000
        self.sent += [(channel, before, after) for channel in channels]


def environment(folder):
    """Without contexts, proxies and credentials of whoever runs the test."""
    kept = {name: value for name, value in os.environ.items()
            if not name.lower().endswith("_proxy") and not name.startswith(("PUSHER_", "NATS_", "XDG_"))}
    return kept | {"HOME": str(folder), "PUSHER_SECRET": SECRET, "PUSHER_APP_ID": APP, "PUSHER_KEY": KEY}
