"""What is in the stream beside what should be."""

import hashlib
import json
import time
from collections import Counter, defaultdict
from urllib.parse import unquote

from nats import Connection
from programs import STARTED, records

HEARTBEAT, OBSERVER, ELECTION = 3, 20, 11  # seconds: what a relay promises, and what a server needs
WRITE = 2  # for the writes of records and fences on a busy machine
# A gap of a connection begins when the client last heard something. What the server wrote just before that may still be
# lost with the connection.
LATENCY = 2000  # milliseconds
SHOWN = 5  # of each kind of violation


class Stored:
    """A message of the stream."""

    def __init__(self, message):
        headers = message.headers
        self.sequence, self.time, self.payload = message.sequence, message.time, message.payload
        tokens = message.subject.split(".")
        unit = unquote(headers["Relay-Unit"]) if "Relay-Unit" in headers else None
        self.term = int(headers.get("Relay-Term", 0))
        self.is_fence = tokens[1] == "_relay"
        self.is_gap = not self.is_fence and tokens[-1] == "relay=3Agap"
        self.slot = int(tokens[2]) if self.is_fence else Account.slot(unit)
        self.channel = None if self.is_fence else unit.split(":", 2)[2]
        self.is_late = False

    @property
    def is_event(self):
        return not self.is_fence and not self.is_gap


class Account:
    def __init__(self, channels, app, faults):
        self.channels, self.app, self.faults = channels, app, faults
        self.failures, self.rows = [], []
        self.shown = Counter()
        self.cache = {}

    @staticmethod
    def slot(unit):
        return int.from_bytes(hashlib.sha256(unit.encode()).digest()[:8], "big") % 1024

    def check(self, condition, message):
        if not condition:
            self.failures.append(message)

    def tell(self, kind, text):
        self.shown[kind] += 1
        if self.shown[kind] <= SHOWN:
            print(f"  {kind}: {text}", flush=True)

    def row(self, name, value):
        self.rows.append((name, value))

    def print(self):
        for name, value in self.rows:
            print(f"{name:<62}{value:>14,}" if isinstance(value, int) else f"{name:<62}{value:>14}")

    # What there is

    def read(self, cluster, sent):
        """The stream itself, with no client of ours. Late is what comes after a higher term of its slot."""
        self.sent = sent
        last = None
        while last != (last := cluster.last_sequences("EVENTS")):
            time.sleep(3)
        connection = Connection(cluster.servers[0].port)
        self.messages = [Stored(message) for message in connection.messages("EVENTS")]
        connection.close()
        highest = defaultdict(int)
        for message in self.messages:
            message.is_late = message.term < highest[message.slot]
            highest[message.slot] = max(highest[message.slot], message.term)
        self.kept = {message.sequence: message for message in self.messages if message.is_event and not message.is_late}
        self.late = [message for message in self.messages if message.is_late]

    def read_relays(self, relays):
        """Who says that it has which term of which unit."""
        self.owners = defaultdict(set)
        self.reasons = Counter()
        for relay in relays:
            for process, log in relay.logs():
                for line in log.read_text(errors="replace").splitlines():
                    if match := STARTED.search(line):
                        self.owners[self.slot(match[1]), int(match[2])].add(process)
                    elif "given up, and taken again" in line:
                        self.reasons["times that a relay gave up all that it had"] += 1
                    elif "is not in the stream" in line:
                        self.reasons["events that a relay says are not in the stream"] += 1

    def printed(self, program, newest=False):
        """Numbers of the messages that a consumer has printed, all its processes together or the newest alone; of each, as
        often as it was printed, whether it was marked as one that had been delivered before."""
        result = defaultdict(list)
        for path in [program.output] if newest else program.outputs():
            for record in records(path):
                if record["type"] == "event":
                    result[record["sequence"]].append(record.get("deliveries", 1) > 1)
        return result

    # What is counted

    def count(self, workers, readers):
        self.count_events()
        self.count_gaps_by_reason()
        self.count_terms()
        self.count_consumers(workers, readers)
        self.count_takeovers()

    def count_events(self):
        copies, gaps = defaultdict(list), defaultdict(list)
        self.gaps = [message for message in self.messages if message.is_gap]
        for message in self.gaps:
            gap = json.loads(message.payload)
            # Of a late gap, too: that events are missing is true whoever says it; but its readers do not see it.
            if not message.is_late:
                gaps[message.channel].append((gap["start"], gap["end"], gap["reason"]))
        for message in self.kept.values():
            copies[json.loads(message.payload)["n"]].append(message)
        counts, early = Counter(), 0

        def is_told(channel, before, after):
            return any(start <= after and before <= end for start, end, _ in gaps[channel])

        for number, (channel, before, after) in enumerate(self.sent):
            found = len(copies.pop(number, ()))
            told = is_told(channel, before, after)
            if found == 0:
                if told:
                    counts["told"] += 1
                elif is_told(channel, before, after + LATENCY):
                    counts["told"] += 1
                    early = max(early, min(start - after for start, _, _ in gaps[channel] if start > after))
                else:
                    counts["silent"] += 1
                    self.tell("missed in silence", f"event {number} of {channel}, sent at {before:.0f}; gaps: {gaps[channel]}")
            else:
                counts["read"] += 1
                counts["twice"] += found - 1
                if found > 1 and not told:
                    counts["twice in silence"] += 1
                    self.tell("twice in silence", f"event {number} of {channel}, sent at {before:.0f}; gaps: {gaps[channel]}")
        self.row("events published", len(self.sent))
        self.row("  read", counts["read"])
        self.row("  missed within told gaps", counts["told"])
        self.row("    at most before the gap, ms", round(early))
        self.row("  missed in silence", counts["silent"])
        self.row("  repeated within told gaps", counts["twice"] - counts["twice in silence"])
        self.row("  repeated in silence", counts["twice in silence"])
        self.check(counts["silent"] == 0, f"{counts['silent']} events are missing that no gap tells of")
        self.check(counts["twice in silence"] == 0, f"{counts['twice in silence']} events came twice, and no gap tells of it")
        self.check(not copies, f"{len(copies)} events are in the stream that nobody has published")

    def count_gaps_by_reason(self):
        for reason, count in sorted(Counter(json.loads(gap.payload)["reason"] for gap in self.gaps).items()):
            self.row(f"gaps told, {reason}", count)

    def count_terms(self):
        self.row("terms of slots", len({(message.slot, message.term) for message in self.messages}))
        several = {key: owners for key, owners in self.owners.items() if len(owners) > 1}
        for (slot, term), owners in several.items():
            self.tell("two owners", f"slot {slot}, term {term}: {', '.join(sorted(owners))}")
        self.row("terms with two owners", len(several))
        self.check(not several, f"{len(several)} terms have more than one owner")
        fences = Counter((message.slot, message.term) for message in self.messages if message.is_fence)
        unfenced = {(message.slot, message.term) for message in self.kept.values()} - fences.keys()
        self.row("terms with events and no fence", len(unfenced))
        self.check(not unfenced, f"{len(unfenced)} terms have events and no fence")
        self.row("late messages of old terms", len(self.late))
        for name, count in sorted(self.reasons.items()):
            self.row(name, count)

    def count_consumers(self, workers, readers):
        late = {message.sequence for message in self.late}
        wanted = self.kept.keys()
        printed = defaultdict(list)
        for worker in workers:
            for sequence, marks in self.printed(worker).items():
                printed[sequence] += marks
        missing, let_through = wanted - printed.keys(), late & printed.keys()
        repeated = {sequence: marks for sequence, marks in printed.items() if len(marks) > 1}
        unmarked = [sequence for sequence, marks in repeated.items() if marks.count(False) > 1]
        self.row("events handled by the group", len(printed))
        self.row("  more than once", len(repeated))
        self.row("  more than once, not marked", len(unmarked))
        for sequence in sorted(missing):
            self.tell("not handled", f"message {sequence} by the group")
        self.check(not missing, f"the group has not handled {len(missing)} events")
        self.check(not unmarked, f"{len(unmarked)} events were repeated and not marked")
        for reader in readers:
            own = self.printed(reader, newest=True)
            self.row(f"events read by {reader.name}", len(own))
            repeated = sum(len(marks) - 1 for marks in own.values())
            self.check(not wanted - own.keys(), f"{reader.name} has not read {len(wanted - own.keys())} events")
            self.check(not repeated, f"{reader.name} has read {repeated} events more than once")
            self.check(list(own) == sorted(own), f"{reader.name} has read events out of order")
            let_through |= late & own.keys()
        self.row("late messages that a consumer let through", len(let_through))
        self.check(not let_through, f"{len(let_through)} late messages were let through")

    def count_takeovers(self):
        """From the fault of the owner to the fence of the next one."""
        classes = defaultdict(list)
        seen = {}
        for fence in (message for message in self.messages if message.is_fence and not message.is_late):
            previous, seen[fence.slot] = seen.get(fence.slot), fence.term
            if previous is None:
                continue
            owners = self.owners.get((fence.slot, previous), set())
            cause = self.cause(owners, fence.time)
            if cause is None:
                classes["given back to even out, or lost without a fault of the relay"].append(0)
                continue
            took = fence.time - cause.start
            others = [fault for fault in self.faults.all
                      if fault is not cause and fault.overlaps(cause.start - OBSERVER, fence.time)]
            servers = [fault for fault in others if fault.is_of_server]
            relays = [fault for fault in others if fault.kind.startswith("relay")]
            limit = WRITE + (HEARTBEAT if cause.kind == "relay left" else OBSERVER + HEARTBEAT)
            if relays:
                classes[f"{cause.kind}, other relays too"].append(took)
                continue
            if servers:
                # One that is paused, or two that are killed, are silent for as long as it takes.
                limit += sum(ELECTION + ((fault.end or fence.time) - fault.start) for fault in servers)
            name = f"{cause.kind}, servers too" if servers else cause.kind
            classes[name].append(took)
            if took > limit:
                self.tell("slow takeover", f"slot {fence.slot}, term {fence.term}: {took:.1f} s after {cause.kind} "
                          f"of {cause.target}, at most {limit:.1f} s are promised")
        self.check(not self.shown["slow takeover"], f"{self.shown['slow takeover']} takeovers took longer than promised")
        for name, times in sorted(classes.items()):
            times.sort()
            part = lambda share: times[min(int(share * len(times)), len(times) - 1)]
            self.row(f"slots taken: {name}", len(times))
            if times[-1]:
                self.row("  s, p50 / p90 / max", f"{part(.5):.1f} / {part(.9):.1f} / {times[-1]:.1f}")

    def cause(self, owners, moment):
        """The fault of an owner for which somebody else has taken a slot."""
        faults = [fault for fault in self.faults.all
                  if fault.target in owners and fault.start < moment and fault.kind.startswith("relay")]
        faults = [fault for fault in faults if fault.kind != "relay paused" or fault.end is None
                  or fault.end - fault.start > OBSERVER - HEARTBEAT]
        return faults[-1] if faults else None

    def programs(self, programs):
        for program in programs:
            for moment, process, status in program.exits:
                self.tell("ended by itself", f"{process}, with status {status}")
        exits = sum(len(program.exits) for program in programs)
        self.row("processes that ended by themselves", exits)
        self.row("servers restarted since they did not recover", self.faults.cluster.restarts)
        stuck = [fault for fault, took in self.faults.leaves if took is None]
        self.check(not stuck, f"{len(stuck)} relays did not leave within 60 s of SIGTERM")
        times = sorted(took for _, took in self.faults.leaves if took is not None)
        if times:
            self.row("relays that left on SIGTERM", len(times))
            self.row("  at most, s", f"{times[-1]:.1f}")

    def replicas(self, cluster):
        for stream in ("EVENTS", "KV_RELAY"):
            last = cluster.last_sequences(stream)
            for _ in range(10):
                if len(set(last.values())) == 1:
                    break
                time.sleep(1)
                last = cluster.last_sequences(stream)
            differs = len(set(last.values())) > 1
            # Servers of 2.9 store heartbeats again that they have: relays do not go by the numbers of records.
            self.check(not differs or stream == "KV_RELAY", f"replicas of {stream} differ: {last}")
            self.row(f"last sequences of {stream}", f"differ: {last}" if differs else "equal")
