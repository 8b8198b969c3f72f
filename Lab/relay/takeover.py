"""Relays with short times, one after the other killed while no server dies: how long it takes until others have its channels."""

import time

from cluster import wait
from programs import KEY, STARTED, Program

CHANNELS = [f"short-{number}" for number in range(30)]
TAKEOVER, KILLS = 4, 6  # seconds of silence; how many relays are killed
HEARTBEAT, WRITE = TAKEOVER * 3 / 20, 1
OWN = "--stream", "SHORT", "--prefix", "short", "--bucket", "SHORT"
LIMIT, QUIET = 60, 3


class TakeoverTest:
    def __init__(self, test):
        self.account = test.account
        where = (*OWN, *test.nats)
        test.must("relay setup", test.command("relay", "setup", "--replicas", "3", "--max-bytes", 1 << 24, *where))
        self.relays = [
            Program(test.logs, f"short-{name}", "relay", *CHANNELS, "--name", f"short-{name}", "--takeover", TAKEOVER, *where,
                    "--host", test.network.home, "--port", test.mock.port, "--no-tls") for name in "abc"]

    def run(self):
        times = []
        try:
            for relay in self.relays:
                relay.start()
            for number in range(KILLS):
                victim = self.relays[number % len(self.relays)]
                if not wait(lambda: self.is_settled(victim), LIMIT):
                    return self.account.check(False, f"{victim.name} gets no channels of the small stream")
                times += self.kill(victim)
                victim.start()
        finally:
            for relay in self.relays:
                relay.kill()
        if not times:
            return
        times.sort()
        promised = TAKEOVER + HEARTBEAT + WRITE
        self.account.row("short times: takeovers after a kill", len(times))
        self.account.row("  promised within, s", f"{promised:.1f}")
        self.account.row("  s, min / p50 / max", f"{times[0]:.1f} / {times[len(times) // 2]:.1f} / {times[-1]:.1f}")
        self.account.check(times[-1] <= promised, f"with short times, a takeover took {times[-1]:.1f} s")

    def kill(self, victim):
        """Seconds until somebody else says that it has each of its channels."""
        lost = self.units(victim)
        others = [relay for relay in self.relays if relay is not victim]
        before = {relay.name: self.units(relay) for relay in others}
        victim.kill()
        start, taken = time.monotonic(), {}

        def are_taken():
            for relay in others:
                for unit in (self.units(relay) - before[relay.name]) & lost:
                    taken.setdefault(unit, time.monotonic() - start)
            return len(taken) == len(lost)
        self.account.check(wait(are_taken, LIMIT, pause=0.02), f"{len(lost) - len(taken)} channels of a killed relay are lost")
        moved = {unit for relay in others for unit in before[relay.name] - self.units(relay)}
        self.account.check(not moved, f"{len(moved)} channels moved that the killed relay did not have")
        return list(taken.values())

    def is_settled(self, victim):
        """Whether it has its share, and nothing has moved for a while."""
        before = [self.units(relay) for relay in self.relays]
        time.sleep(QUIET)
        return (len(self.units(victim)) > 1 and before == [self.units(relay) for relay in self.relays]
                and len(set().union(*before)) == len(CHANNELS))

    @staticmethod
    def units(relay):
        """What its running process has, as it says."""
        units = set()
        for line in relay.log.read_text(errors="replace").splitlines():
            if match := STARTED.search(line):
                units.add(match[1])
            elif f"no longer relaying pusher:{KEY}:" in line:
                units.discard(line.rsplit(" ", 1)[1].rstrip("."))
        return units
