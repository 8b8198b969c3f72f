"""What is in the stream beside what should be."""

import hashlib
import json
import re
import time
from collections import Counter, defaultdict
from urllib.parse import unquote

from nats import Connection
from programs import STARTED, records

# Seconds: what a relay promises, and what a server needs.
HEARTBEAT, HOLDER, OBSERVER, ELECTION, ACK_WAIT = 3, 15, 20, 11, 30
HANDOVER = 5  # seconds in which another relay is to be ready for what a relay leaves
WRITE = 2  # for the writes of records and fences on a busy machine
# A gap of a connection begins when the client last heard something. What the server wrote just before that may still be
# lost with the connection.
LATENCY = 2000  # milliseconds
SHOWN = 5  # of each kind of violation
LATE = re.compile(r"^skipped (\d+) events?, .*too late", re.MULTILINE)  # what a consumer says at its end
# What gives each event of a source a number. Others are not counted.
MATRIX_TEXT, PYDIO_PATH = re.compile(r"number (\d+)"), re.compile(r"/n-(\d+)")


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
        self.source = tokens[1]
        self.channel = unit.split(":", 2)[2] if self.source == "pusher" else unit
        self.number = self.find_number(tokens[-1]) if self.is_event else None
        self.is_late = False
        self.is_marked = headers.get("Relay-Repeat") == "1"  # two relays listened when it came

    def find_number(self, name):
        match self.source, name:
            case "pusher", "tick":
                return json.loads(self.payload)["n"]
            case "matrix", "m=2Eroom=2Emessage":
                text = MATRIX_TEXT.fullmatch(json.loads(self.payload)["content"].get("body", ""))
            case "pydio", "pydio=3Anode_created":
                text = PYDIO_PATH.fullmatch(json.loads(self.payload)["path"])
            case _:
                text = None
        return text and int(text[1])

    @property
    def is_event(self):
        return not self.is_fence and not self.is_gap


class Account:
    def __init__(self):
        self.failures, self.rows = [], []
        self.shown = Counter()

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

    @staticmethod
    def stored(servers):
        """Asked through another server if what one gives ends too early: a consumer can go with its leader."""
        for server in servers:
            connection = Connection(server)
            try:
                return [Stored(message) for message in connection.messages("EVENTS")]
            except TimeoutError:
                if server is servers[-1]:
                    raise
            finally:
                connection.close()

    def read(self, cluster):
        """The stream itself, with no client of ours. Late is what comes after a higher term of its slot."""
        cluster.bring_into_step("EVENTS")
        self.messages = self.stored(cluster.servers)
        highest = defaultdict(int)
        for message in self.messages:
            message.is_late = message.term < highest[message.slot]
            highest[message.slot] = max(highest[message.slot], message.term)
        self.kept = {message.sequence: message for message in self.messages if message.is_event and not message.is_late}
        self.late = [message for message in self.messages if message.is_late]

    @staticmethod
    def begun(relays):
        """The units that any relay says it has."""
        logs = [log for relay in relays for _, log in relay.logs()]
        return {match[1] for log in logs for match in STARTED.finditer(log.read_text(errors="replace"))}

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

    def count(self, publishers, workers, durable, readers, faults):
        self.faults = faults
        for name, publisher in publishers.items():
            if name == "pusher":
                self.count_events(publisher.sent)
            else:
                self.count_exactly(name, publisher.sent)
            self.row(f"  requests of the {name} publisher without an answer", publisher.failures)
        self.count_gaps_by_reason()
        self.count_terms()
        self.count_consumers(workers, durable, readers)
        self.count_takeovers()

    def read_gaps(self):
        self.gaps = [message for message in self.messages if message.is_gap]
        by_channel = defaultdict(list)
        for message in self.gaps:
            gap = json.loads(message.payload)
            # Readers do not see a late one.
            if not message.is_late:
                by_channel[message.channel].append((gap["start"], gap["end"], gap["reason"]))
        return by_channel

    def count_events(self, sent):
        """Those of channels: each is read, or lies in a gap that is told."""
        gaps = self.read_gaps()
        copies = self.copies("pusher")
        counts, early = Counter(), 0

        def is_told(channel, before, after):
            return any(start <= after and before <= end for start, end, _ in gaps[channel])

        for number, (channel, before, after, is_sure) in enumerate(sent):
            all_copies = copies.pop(number, ())
            found, unmarked = len(all_copies), sum(not message.is_marked for message in all_copies)
            told = is_told(channel, before, after)
            if found == 0:
                if told:
                    counts["told"] += 1
                elif not is_sure:
                    counts["unsure"] += 1
                elif is_told(channel, before, after + LATENCY):
                    counts["told"] += 1
                    early = max(early, min(start - after for start, _, _ in gaps[channel] if start > after))
                else:
                    counts["silent"] += 1
                    self.tell("missed in silence", f"event {number} of {channel}, sent at {before:.0f}; gaps: {gaps[channel]}")
            else:
                counts["read"] += 1
                counts["twice"] += found - 1
                if unmarked > 1 and not told:
                    counts["twice in silence"] += 1
                    self.tell("twice in silence", f"event {number} of {channel}, sent at {before:.0f}; gaps: {gaps[channel]}")
        self.row("events of pusher published", len(sent))
        self.row("  read", counts["read"])
        self.row("  missed within told gaps", counts["told"])
        self.row("    at most before the gap, ms", round(early))
        self.row("  missed, and nobody knows whether the server had them", counts["unsure"])
        self.row("  missed in silence", counts["silent"])
        self.row("  repeated, and marked or within told gaps", counts["twice"] - counts["twice in silence"])
        self.row("  repeated in silence", counts["twice in silence"])
        self.check(counts["silent"] == 0, f"{counts['silent']} events are missing that no gap tells of")
        self.check(counts["twice in silence"] == 0, f"{counts['twice in silence']} events came twice, and no gap tells of it")
        self.check(not copies, f"{len(copies)} events are in the stream that nobody has published")

    def copies(self, source):
        """Messages that readers see, by number."""
        result = defaultdict(list)
        for message in self.kept.values():
            if message.source == source and message.number is not None:
                result[message.number].append(message)
        return result

    def count_exactly(self, source, sent):
        """Those of a source that has ids and a history: each exactly once for readers."""
        copies = self.copies(source)
        late = {message.number for message in self.late if message.source == source}
        missing = [number for number in range(len(sent)) if number not in copies]
        dropped = [number for number in missing if number in late]
        twice = [number for number, messages in copies.items() if len(messages) > 1]
        for number in missing:
            how = "stored only as a late one" if number in late else "not in the stream"
            self.tell(f"missing of {source}", f"event {number} of {sent[number]}: {how}")
        for number in twice:
            where = ", ".join(f"message {message.sequence} of term {message.term}" for message in copies[number])
            self.tell(f"twice of {source}", f"event {number}: {where}")
        self.row(f"events of {source} published", len(sent))
        self.row("  read", len(copies))
        self.row("  missing", len(missing))
        self.row("    stored, but late, so that readers drop it", len(dropped))
        self.row("  repeated", len(twice))
        self.check(not missing, f"{len(missing)} events of {source} are missing")
        self.check(not twice, f"{len(twice)} events of {source} were read twice")
        self.check(max(copies, default=0) < max(len(sent), 1), f"events of {source} are in the stream that nobody has published")

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
        self.row("  of Matrix and Pydio", sum(message.source in ("matrix", "pydio") for message in self.late))
        for name, count in sorted(self.reasons.items()):
            self.row(name, count)

    def count_consumers(self, workers, durable, readers):
        let_through = self.count_group("workers", workers) | self.count_group("a durable of its own", [durable])
        late = {message.sequence for message in self.late}
        wanted = self.kept.keys()
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
        # It has read the whole stream at once.
        flagged = sum(map(int, LATE.findall(readers[-1].log.read_text(errors="replace"))))
        events = sum(message.is_event for message in self.late)
        self.row(f"late messages that {readers[-1].name} counts", flagged)
        self.check(flagged >= events, f"{readers[-1].name} counts {flagged} late messages, of {events}")

    def count_group(self, name, workers):
        """Which late messages it has handled."""
        printed = defaultdict(list)
        for worker in workers:
            for sequence, marks in self.printed(worker).items():
                printed[sequence] += marks
        missing = self.kept.keys() - printed.keys()
        repeated = {sequence: marks for sequence, marks in printed.items() if len(marks) > 1}
        unmarked = [sequence for sequence, marks in repeated.items() if marks.count(False) > 1]
        # The new leader of a consumer may not know what the old one had delivered last.
        forgotten = [sequence for sequence in unmarked if self.is_of_election(sequence)]
        unmarked = sorted(set(unmarked) - set(forgotten))
        self.row(f"events handled by {name}", len(printed))
        self.row("  more than once", len(repeated))
        self.row("  not marked, delivered while servers failed", len(forgotten))
        self.row("  not marked", len(unmarked))
        for sequence in unmarked:
            self.tell("repeated and not marked", f"message {sequence} by {name}")
        for sequence in sorted(missing):
            self.tell("not handled", f"message {sequence} by {name}")
        self.check(not missing, f"{name}: {len(missing)} events are not handled")
        self.check(not unmarked, f"{name}: {len(unmarked)} events were repeated and not marked")
        return {message.sequence for message in self.late} & printed.keys()

    def is_of_election(self, sequence):
        stored = self.kept[sequence].time if sequence in self.kept else 0
        return any(fault.keeps_from_writing and fault.overlaps(stored - ELECTION, stored + ACK_WAIT + ELECTION)
                   for fault in self.faults.all)

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
            servers = [fault for fault in others if fault.keeps_from_writing]
            relays = [fault for fault in others if fault.kind.startswith("relay")]
            limit = WRITE + HEARTBEAT + (HANDOVER if cause.kind == "relay left" else OBSERVER)
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
        self.row("takeovers promised within, s: of a relay that left", HEARTBEAT + HANDOVER + WRITE)
        self.row("  of one that did not: its silence, a heartbeat, a write", OBSERVER + HEARTBEAT + WRITE)
        for name, times in sorted(classes.items()):
            times.sort()
            part = lambda share: times[min(int(share * len(times)), len(times) - 1)]
            self.row(f"slots taken: {name}", len(times))
            if times[-1]:
                self.row("  s, min / p50 / p90 / max",
                         f"{times[0]:.1f} / {part(.5):.1f} / {part(.9):.1f} / {times[-1]:.1f}")

    def cause(self, owners, moment):
        """The fault of an owner for which somebody else has taken a slot."""
        faults = [fault for fault in self.faults.all
                  if fault.target in owners and fault.start < moment and fault.kind.startswith("relay")]
        enough = {"relay paused": OBSERVER - HEARTBEAT, "relay cut": HOLDER - HEARTBEAT}
        faults = [fault for fault in faults if fault.end is None
                  or fault.end - fault.start > enough.get(fault.kind, 0)]
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
