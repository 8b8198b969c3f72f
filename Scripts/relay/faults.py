"""What goes wrong, at random, and when."""

import heapq
import itertools
import os
import threading
import time

from cluster import RECOVERY

PAUSE = 1, 5  # seconds from one fault to the next
# Of the servers: how long they are down. A second fault waits until every replica has everything.
KILLED = 0.1, 4
PAUSED_SERVER = 3, 14
PAUSED_RELAY = 1, 40


class Fault:
    def __init__(self, kind, target, start):
        self.kind, self.target, self.start, self.end = kind, target, start, None

    @property
    def is_of_server(self):
        return Faults.KINDS[self.kind] == "server"

    def overlaps(self, start, end):
        return self.start < end and (self.end is None or self.end > start)


class Faults:
    def __init__(self, cluster, relays, consumers, random):
        self.cluster, self.relays, self.consumers, self.random = cluster, relays, consumers, random
        self.all = []
        self.heals = []
        self.order = itertools.count()
        self.leaving = []
        self.settled = time.monotonic()  # the last time that all replicas were seen to have everything
        self.leaves = []  # how long relays took to leave; None for those that did not

    KINDS = {
        "leader killed": "server", "server killed": "server", "two servers killed": "server", "server paused": "server",
        "relay killed": "relay", "relay left": "relay", "relay paused": "relay", "consumer killed": "consumer",
    }

    def run(self, seconds):
        end = time.monotonic() + seconds
        # Each kind once, then any.
        kinds = [kind for kind, of in self.KINDS.items() if of != "server" or os.environ.get("FAULTS") != "programs"]
        first = list(kinds)
        self.random.shuffle(first)
        while time.monotonic() < end:
            pause = time.monotonic() + self.random.uniform(*PAUSE)
            while time.monotonic() < min(pause, end):
                self.heal()
                time.sleep(0.05)
            kind = first[0] if first else self.random.choice(kinds)
            if self.begin(kind):
                first = first[1:]
            elif first:
                first = first[1:] + first[:1]
        while self.heals:
            self.heal()
            time.sleep(0.05)
        for thread in self.leaving:
            thread.join()
        self.cluster.wait_until_ready()

    def heal(self):
        while self.heals and self.heals[0][0] <= time.monotonic():
            _, _, fault, action = heapq.heappop(self.heals)
            action()
            fault.end = time.time()

    def look_after_servers(self):
        if all(server.is_running for server in self.cluster.servers) and time.monotonic() - self.settled > RECOVERY:
            self.cluster.restart_stuck()
            self.settled = time.monotonic()

    def leave(self, fault, relay, pause):
        """Meanwhile, what it waits for may need to be healed."""
        self.leaves.append((fault, relay.leave()))
        time.sleep(pause)
        relay.start()
        fault.end = time.time()

    def later(self, seconds, fault, action):
        heapq.heappush(self.heals, (time.monotonic() + seconds, next(self.order), fault, action))

    def begin(self, kind):
        """Whether there was something to do it to."""
        of = self.KINDS[kind]
        if of == "server":
            if not self.cluster.is_settled():
                self.look_after_servers()
                return False
            self.settled = time.monotonic()
            targets = self.random.sample(self.cluster.servers, 2 if kind.startswith("two") else 1)
            if kind == "leader killed":
                targets = [self.cluster.leader()]
                if targets == [None]:
                    return False
        else:
            targets = [program for program in (self.relays if of == "relay" else self.consumers) if program.is_running]
            if not targets:
                return False
            targets = [self.random.choice(targets)]
        fault = Fault(kind, " ".join(target.id if of != "server" else target.name for target in targets), time.time())
        self.all.append(fault)
        print(f"{time.strftime('%H:%M:%S')} {kind}: {fault.target}", flush=True)
        if "paused" in kind:
            targets[0].stop()
            self.later(self.random.uniform(*(PAUSED_SERVER if of == "server" else PAUSED_RELAY)), fault,
                       targets[0].resume)
        elif kind == "relay left":
            thread = threading.Thread(target=self.leave, args=(fault, targets[0], self.random.uniform(*KILLED)))
            thread.start()
            self.leaving.append(thread)
        else:
            for target in targets:
                target.kill()

            def start():
                for target in targets:
                    target.start()
            self.later(self.random.uniform(*KILLED), fault, start)
        return True
