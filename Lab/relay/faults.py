"""What goes wrong, and when: a seed decides what, for how long, and in which order.

A fault of the servers waits until every replica has everything again, or it would be two at once; others do not wait. So the
same seed gives the same faults, those of the servers among each other and the others among each other in the same order."""

import collections
import heapq
import itertools
import sys
import threading
import time

from cluster import RECOVERY
from programs import STARTED

PAUSE = 1, 5  # seconds from one fault to the next
LOOK = 0.5  # seconds between looks at the replicas

# Seconds that it lasts.
KILLED = 0.1, 4
DURATIONS = {
    "server paused": (3, 14), "server cut": (3, 14), "servers parted": (3, 14),
    "relay paused": (1, 40), "relay cut": (1, 40), "consumer paused": (1, 40),
    "mock paused": (3, 14), "pydio paused": (3, 14), "homeserver paused": (3, 14),
}


class Fault:
    def __init__(self, plan, targets):
        self.kind, self.seconds, self.targets = plan.kind, plan.seconds, targets
        self.target = " ".join(target.id for target in targets)
        self.start, self.end = time.time(), None

    @property
    def keeps_from_writing(self):
        """Whether what is written meanwhile may have to wait for it."""
        return Faults.KINDS[self.kind] in Faults.OF_SERVERS

    def overlaps(self, start, end):
        return self.start < end and (self.end is None or self.end > start)


Plan = collections.namedtuple("Plan", "kind seconds choice")


class Faults:
    # Of which sort each kind is. The short form has one of each sort.
    KINDS = {
        "leader killed": "server", "server killed": "server", "two servers killed": "server", "server paused": "server",
        "server cut": "link", "servers parted": "link",
        "relay killed": "relay", "relay left": "relay", "relay paused": "relay", "relay cut": "relay",
        "consumer killed": "consumer", "consumer paused": "consumer",
        "mock killed": "mock", "mock paused": "mock",
        "pydio killed": "pydio", "pydio paused": "pydio",
        "homeserver killed": "homeserver", "homeserver paused": "homeserver",
    }
    OF_SERVERS = "server", "link"

    def __init__(self, cluster, network, programs, random, form=None):
        """programs: what there is of each sort but the servers.

        form: "short" for one of each sort, "programs" for none of the servers and links, names of kinds with commas for
        those alone, None for all."""
        self.cluster, self.network, self.random = cluster, network, random
        self.programs = {"server": cluster.servers, "link": cluster.servers} | programs
        self.form = form
        self.all = []
        self.heals = []
        self.order = itertools.count()
        self.leaving = []
        self.settled = time.monotonic()  # the last time that all replicas were seen to have everything
        self.looked = 0
        self.leaves = []  # how long relays took to leave; None for those that did not
        self.waiting = []  # those of the servers
        self.plans = self.planned(self.kinds())

    def kinds(self):
        kinds = [kind for kind, sort in self.KINDS.items() if self.programs.get(sort)]
        if not self.network.can_cut:
            kinds = [kind for kind in kinds if kind.split()[-1] not in ("cut", "parted")]
        match self.form:
            case "programs":
                return [kind for kind in kinds if self.KINDS[kind] not in self.OF_SERVERS]
            case None | "short":
                return kinds if self.cluster.survives_cuts else [kind for kind in kinds if self.KINDS[kind] != "link"]
            case _:
                return [kind for kind in kinds if kind in self.form.split(",")] or sys.exit(
                    f"relay-test: FAULTS is short, programs, or some of: {', '.join(kinds)}")

    def planned(self, kinds):
        """Each kind once, then any; or one of each sort, and no more."""
        self.random.shuffle(kinds)
        if self.form == "short":
            kinds = list({self.KINDS[kind]: kind for kind in kinds}.values())
        first = iter(kinds)
        while True:
            kind = next(first, None) or (None if self.form == "short" else self.random.choice(kinds))
            if kind is None:
                return
            yield self.random.uniform(*PAUSE), Plan(
                kind, self.random.uniform(*DURATIONS.get(kind, KILLED)), self.random.random())

    def run(self, seconds):
        end = time.monotonic() + seconds
        for pause, plan in self.plans:
            self.wait(min(time.monotonic() + pause, end))
            if time.monotonic() >= end:
                break
            if self.KINDS[plan.kind] in self.OF_SERVERS:
                self.waiting.append(plan)
            else:
                self.begin(plan)
        while self.heals or (self.waiting and time.monotonic() < end):
            self.wait(time.monotonic() + 0.05)
        for thread in self.leaving:
            thread.join()
        self.cluster.wait_until_ready()
        if "homeserver" in self.programs:
            for server in self.programs["homeserver"]:
                server.wait_until_started()

    def wait(self, until):
        while True:
            self.heal()
            if self.waiting and time.monotonic() - self.looked > LOOK and self.is_settled():
                self.begin(self.waiting.pop(0))
            if time.monotonic() >= until:
                return
            time.sleep(0.05)

    def heal(self):
        while self.heals and self.heals[0][0] <= time.monotonic():
            _, _, fault, action = heapq.heappop(self.heals)
            action()
            fault.end = time.time()

    def is_settled(self):
        if any(fault.keeps_from_writing and fault.end is None for fault in self.all):
            return False
        self.looked = time.monotonic()
        if self.cluster.is_settled():
            self.settled = time.monotonic()
            return True
        if all(server.is_running for server in self.cluster.servers) and time.monotonic() - self.settled > RECOVERY:
            self.cluster.restart_stuck()
            self.settled = time.monotonic()
        return False

    def targets(self, plan):
        """None if there is nothing to do it to."""
        sort = self.KINDS[plan.kind]
        programs = self.programs[sort]
        if plan.kind == "leader killed":
            leader = self.cluster.leader()
            return [leader] if leader else None
        # The planned one, or the next that runs.
        start = int(plan.choice * len(programs))
        if self.form == "short" and sort == "relay":
            start = max(range(len(programs)), key=lambda index: self.share(programs[index]))
        running = [program for program in programs[start:] + programs[:start] if program.is_running]
        count = 2 if plan.kind in ("two servers killed", "servers parted") else 1
        return running[:count] if len(running) >= count else None

    @staticmethod
    def share(relay):
        """Units that it says it has. At the start, one may have them all."""
        text = relay.log.read_text(errors="replace")
        return len(STARTED.findall(text)) - text.count("no longer relaying ")

    def begin(self, plan):
        targets = self.targets(plan)
        if targets is None:
            return
        fault = Fault(plan, targets)
        self.all.append(fault)
        print(f"{time.strftime('%H:%M:%S')} {fault.kind}: {fault.target}, {fault.seconds:.1f} s", flush=True)
        if fault.kind == "relay left":
            thread = threading.Thread(target=self.leave, args=(fault, targets[0]))
            thread.start()
            self.leaving.append(thread)
            return
        heal = self.inflict(fault.kind.split()[-1], targets)
        heapq.heappush(self.heals, (time.monotonic() + fault.seconds, next(self.order), fault, heal))

    def inflict(self, what, targets):
        """What heals it."""
        match what:
            case "killed":
                for target in targets:
                    target.kill()
                return lambda: [target.restart() for target in targets]
            case "paused":
                return self.pause(targets[0])
            case "cut":
                return self.cut(targets[0])
            case "parted":
                return self.part(*targets)

    def pause(self, target):
        """A server that must not go on hangs until it is killed."""
        can_resume = target not in self.cluster.servers or self.cluster.can_resume(target)
        target.pause()
        if can_resume:
            return target.resume

        def replace():
            target.kill()
            target.restart()
        return replace

    def cut(self, target):
        machine = target.machine
        target.is_cut = True
        self.network.cut(machine)

        def mend():
            self.network.mend(machine)
            target.is_cut = False
        return mend

    def part(self, one, other):
        one.is_cut = other.is_cut = True
        self.network.part(one.machine, other.machine)

        def join():
            self.network.join(one.machine, other.machine)
            one.is_cut = other.is_cut = False
        return join

    def leave(self, fault, relay):
        """Meanwhile, what it waits for may need to be healed."""
        self.leaves.append((fault, relay.leave()))
        time.sleep(fault.seconds)
        relay.start()
        fault.end = time.time()
