"""The process under attack, and what it says."""

import os
import signal
import subprocess
import threading
import unicodedata

from measure import now

COMMAND = None  # set at the start
FORGED = "FORGED"  # a line that begins with it was made by an attacker
EVIL = "\r\n" + FORGED + "\x1b[2J\x1b]0;pwned\x07\x9b31m\u202e\u2028" + FORGED  # text for every field that is shown

ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.lower().endswith("_proxy") and not name.startswith("PUSHER_")}
KEPT = 20_000
# What is looked for; the flood around it is counted alone.
WANTED = (b"calm", b'"state"', b'"subscribed"', b'"error"', b"listening")


TURNS_ORDER = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"


def drives_terminal(text):
    """Whether a line holds what moves a cursor or breaks the line."""
    return any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text if character != "\t")


def turns_order(text):
    return any(character in TURNS_ORDER for character in text)


class Subject:
    def __init__(self, *arguments, environment=None, stdin=None, json=False):
        self.arguments = arguments
        self.process = subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**ENVIRONMENT, **(environment or {})})
        self.changed = threading.Condition()
        self.lines = []  # (moment, bytes) of standard output, those that are wanted
        self.output_lines = 0
        self.log_lines = 0
        self.log = []
        self.dirty = []  # lines that drive the terminal or were forged
        self.is_json = json
        self.may_read = threading.Event()
        self.may_read.set()
        self.threads = [threading.Thread(target=target, daemon=True) for target in (self.read_output, self.read_log)]
        for thread in self.threads:
            thread.start()
        if stdin is not None:
            self.process.stdin.write(stdin)
            self.process.stdin.close()

    def read_output(self):
        for line in self.process.stdout:
            self.may_read.wait()
            moment = now()
            with self.changed:
                self.output_lines += 1
                if any(word in line for word in WANTED) or len(self.lines) < 50:
                    if len(self.lines) == KEPT:
                        self.dirty.append(f"over {KEPT} lines that the suite looks for: it cannot tell what is back")
                    if len(self.lines) <= KEPT:
                        self.lines.append((moment, line))
                    self.changed.notify_all()
            if self.output_lines < KEPT and len(line) < 10_000:
                self.check(line, is_output=True)

    def read_log(self):
        for line in self.process.stderr:
            with self.changed:
                self.log_lines += 1
                if len(self.log) < 200:
                    self.log.append(line[:1000].decode(errors="replace").rstrip("\n"))
                self.changed.notify_all()
            if self.log_lines < KEPT:
                self.check(line)
            if len(line) > 20_000:
                self.dirty.append(f"a log line of {len(line)} bytes")

    def check(self, line, is_output=False):
        text = line.decode(errors="replace").rstrip("\n")
        # Output in a pipe is for programs, which may give back names that turn the order. In JSON, what breaks a line is
        # enough.
        if is_output and self.is_json:
            drives = any(character < " " for character in text)
        else:
            drives = drives_terminal(text) or not is_output and turns_order(text)
        if text.startswith(FORGED) or drives:
            self.dirty.append(repr(text[:120]))

    def find(self, condition, since=0, within=10):
        """The moment at which a line of standard output was as wanted; None if none is."""
        end = now() + within
        index = 0
        with self.changed:
            while True:
                for moment, line in self.lines[index:]:
                    if moment >= since and condition(line):
                        return moment
                index = len(self.lines)
                rest = end - now()
                if rest <= 0 or (not self.is_running and not self.threads[0].is_alive()):
                    return None
                self.changed.wait(min(rest, 0.2))

    def says(self, text, within=10):
        """Whether the log gets a line with this text."""
        end = now() + within
        with self.changed:
            while not any(text in line for line in self.log):
                if now() >= end or not self.is_running:
                    return any(text in line for line in self.log)
                self.changed.wait(0.2)
            return True

    def pause_output(self):
        """Nobody takes what it prints."""
        self.may_read.clear()

    def resume_output(self):
        self.may_read.set()

    @property
    def is_running(self):
        return self.process.poll() is None

    def wait(self, within):
        """The exit status; None if it still runs."""
        try:
            status = self.process.wait(max(0, within))
        except subprocess.TimeoutExpired:
            return None
        for thread in self.threads:
            thread.join(5)
        return status

    def end(self):
        """Asks it to end, as Ctrl-C does. Its status; None if it had to be killed."""
        self.may_read.set()
        if self.is_running:
            self.process.send_signal(signal.SIGINT)
        status = self.wait(10)
        if status is None:
            self.kill()
        return status

    def kill(self):
        self.may_read.set()
        self.process.kill()
        self.process.wait()
