"""What a scenario is, and one run of it."""

import contextlib
import random
import traceback
from dataclasses import dataclass
from typing import Callable, Optional

from measure import MIB, Meter, now, slowness
from subject import Subject

SCENARIOS = []


@dataclass
class Scenario:
    name: str
    play: Callable
    grows: int  # bytes
    cpu: float  # seconds
    back: float  # seconds until what is well-behaved works
    log: int  # lines of standard error
    is_idle: bool  # waits more than it works: runs beside others
    is_smoke: bool  # a part of the short form
    needs_namespace: bool


def scenario(name, *, grows=16, cpu=5, back=5, log=60, idle=False, smoke=False, namespace=False):
    """Registers `play(trial)`.

    grows: mebibytes; cpu, back: seconds; log: lines.
    """
    def register(play):
        SCENARIOS.append(Scenario(name, play, int(grows * MIB), cpu, back, log, idle, smoke, namespace))
        return play
    return register


class Stop(Exception):
    """The rest of the scenario makes no sense."""


class Trial:
    def __init__(self, scenario, folder, is_short):
        self.scenario, self.folder, self.is_short = scenario, folder, is_short
        self.random = random.Random(scenario.name)
        self.peers, self.subjects = [], []
        self.meter: Optional[Meter] = None
        self.back: Optional[float] = None
        self.errors = []
        self.delays = []  # what came too late
        self.slowness = 1  # bounds on time are as much longer

    def scale(self, count):
        """How many of something, in the short form fewer."""
        return max(count // 5, 1) if self.is_short else count

    # What takes part

    def peer(self, peer):
        self.peers.append(peer)
        return peer

    def start(self, *arguments, **options):
        subject = Subject(*arguments, **options)
        self.subjects.append(subject)
        return subject

    # What is found

    def expect_pause(self, seconds, bound):
        """What goes on beside the attack was held up by it for so long."""
        self.expect(seconds <= bound * slowness(), f"another client or channel waited {seconds:.3g} s meanwhile")

    def fail(self, what):
        self.errors.append(what)

    def expect(self, is_fine, what):
        if not is_fine:
            self.fail(what)

    def need(self, value, what):
        if not value:
            self.fail(what)
            raise Stop
        return value

    @contextlib.contextmanager
    def attack(self, subject):
        """Measures from here on, until the trial is over. The clock of `is_back` starts at the end of the block."""
        self.meter = Meter(subject)
        yield
        self.attack_ended = now()

    def is_back(self, moment):
        """What is well-behaved works again; None: it does not."""
        self.back = float("inf") if moment is None else max(0, moment - self.attack_ended)

    # The end

    def run(self):
        try:
            self.scenario.play(self)
        except Stop:
            pass
        except Exception as error:  # a mistake of ours is a failure like any other
            frame = traceback.extract_tb(error.__traceback__)[-1]
            self.fail(f"{type(error).__name__} at {frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}: {error}")
        if self.meter:
            self.meter.stop()
        for subject in self.subjects:
            self.judge_end(subject)
        for peer in self.peers:
            peer.close()
            self.errors += peer.errors
        self.judge()
        return self

    def judge_end(self, subject):
        was_running = subject.is_running
        status = subject.end()
        if status is None:
            self.fail("it had to be killed")
        elif status < 0 and status != -2:
            self.fail(f"it crashed with signal {-status}")
        elif was_running and status not in (0, 69, 77, 130, -2):
            # 69 and 77: a channel could not be had while the others went on.
            self.fail(f"it ended with status {status}")
        if subject.dirty:
            self.fail("hostile text in the output: " + subject.dirty[0])

    def judge(self):
        self.slowness = slowness()
        if self.meter:
            bounds = self.scenario
            self.expect(self.meter.grew_by <= bounds.grows, "memory")
            self.expect(self.meter.cpu_seconds <= bounds.cpu, "CPU")
            self.expect(self.meter.log_lines <= bounds.log, "log lines")
        elif not self.errors:
            self.fail("nothing was measured")
        if self.back is None:
            if not self.errors:
                self.fail("nobody looked whether it still works")
        elif self.back == float("inf"):
            self.fail("never works again")
        elif self.back > self.scenario.back * self.slowness:
            self.delays.append(f"works again after {self.back:.1f} s, too late")

    @property
    def is_fine(self):
        return not self.errors and not self.delays

    @property
    def is_only_late(self):
        """Nothing else is wrong. Others may have wanted the processors just then, which no load average shows."""
        return bool(self.delays) and not self.errors
