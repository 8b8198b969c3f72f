"""What a process costs: memory, CPU, lines of its log."""

import os
import threading
import time

from typing import NamedTuple

MIB = 1 << 20
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Resident(NamedTuple):
    own: int  # what the process wrote
    file: int  # pages of its program and libraries: how many the kernel reads ahead is no work of a peer
    mark: int  # the most of both so far


def memory(pid):
    """Bytes of `Resident` memory that the process holds; of none if it is gone."""
    found = {}
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                field, _, value = line.partition(":")
                if field in ("RssAnon", "RssFile", "RssShmem", "VmHWM"):
                    found[field] = int(value.split()[0]) * 1024
    except (OSError, ValueError):
        pass
    return Resident(found.get("RssAnon", 0) + found.get("RssShmem", 0), found.get("RssFile", 0), found.get("VmHWM", 0))


def cpu(pid):
    """Seconds that the process has used; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND
    except (OSError, IndexError):
        return 0


class Meter:
    """Growth over a baseline. The kernel's high-water mark is exact, where it can be set back; samples are the rest."""

    def __init__(self, subject):
        self.subject = subject
        self.pid = subject.process.pid
        self.baseline = memory(self.pid).own
        self.cpu_before = cpu(self.pid)
        self.lines_before = subject.log_lines
        self.peak = self.baseline
        self.cpu_now = self.cpu_before
        self.has_mark = self.reset_mark()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.sample, daemon=True)
        self.thread.start()

    def reset_mark(self):
        try:
            with open(f"/proc/{self.pid}/clear_refs", "w") as file:
                file.write("5")
            return True
        except OSError:
            return False

    def look(self):
        held = memory(self.pid)
        self.peak = max(self.peak, held.own, held.mark - held.file if self.has_mark else 0)
        self.cpu_now = max(self.cpu_now, cpu(self.pid))

    def sample(self):
        while not self.stopped.wait(0.02):
            self.look()

    def stop(self):
        self.look()
        self.stopped.set()
        self.thread.join()

    @property
    def grew_by(self):
        return self.peak - self.baseline

    @property
    def cpu_seconds(self):
        return self.cpu_now - self.cpu_before

    @property
    def log_lines(self):
        return self.subject.log_lines - self.lines_before


def megabytes(count):
    return f"{count / MIB:.1f}M"


def now():
    return time.monotonic()


def slowness():
    """How much longer than on a machine of our own things may take: others may want the processors, too."""
    return min(max(os.getloadavg()[0] / (os.cpu_count() or 1), 1), 10)
