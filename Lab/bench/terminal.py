"""A program at a terminal of its own."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

WAIT = 30


def control_terminal():
    """Else nobody tells the program that the terminal has another size."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Screen:
    """A program at a terminal of its own, and what it writes there."""

    def __init__(self, *command, home="/nowhere", columns=120, rows=40):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.columns, self.rows = columns, rows
        self.started = time.perf_counter()
        environment = os.environ | {"XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home),
                                    "XDG_STATE_HOME": str(home), "TERM": "xterm-256color"}
        self.process = subprocess.Popen([str(part) for part in command], stdin=slave, stdout=slave, stderr=slave,
                                        env=environment, start_new_session=True, preexec_fn=control_terminal)
        os.close(slave)
        self.written = b""

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, timeout):
        if not select.select([self.master], [], [], timeout)[0]:
            return b""
        try:
            data = os.read(self.master, 1 << 16)
        except OSError:  # the program has ended
            return b""
        self.written += data
        return data

    def until(self, text):
        """Reads until something is written; returns the moment."""
        end = time.perf_counter() + WAIT
        while text.encode() not in self.written:
            if time.perf_counter() > end:
                raise SystemExit(f"bench: the screen does not show {text}")
            self.read(0.1)
        return time.perf_counter()

    def quiet(self):
        """Reads until nothing more comes."""
        while self.read(0.2):
            pass
        self.written = b""

    def type(self, text):
        """Milliseconds from a key to the first bytes of the next frame, and how many bytes that is."""
        start = time.perf_counter()
        os.write(self.master, text.encode())
        self.read(WAIT)
        elapsed = time.perf_counter() - start
        while self.read(0.02):  # longer than a frame: else the next key waits for the one before
            pass
        count = len(self.written)
        self.written = b""
        return elapsed * 1000, count

    def type_and_see(self, letter):
        """Milliseconds from a key to its letter, whatever else is painted meanwhile."""
        self.written = b""
        start = time.perf_counter()
        os.write(self.master, letter.encode())
        return (self.until(letter) - start) * 1000

    def shows(self, text):
        """Whether it is on the screen, all of which another size makes the program write."""
        self.columns ^= 1
        self.resize(self.columns, self.rows)
        self.written = b""
        self.read_for(0.2)
        return text.encode() in self.written

    def read_for(self, seconds):
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        while self.read(0.1) or self.process.poll() is None:
            pass
        os.close(self.master)
        return self.process.wait()


def percentile(values, share):
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]
