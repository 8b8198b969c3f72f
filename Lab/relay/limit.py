"""A small stream that is filled to its last byte, and emptied: a relay reads its source no more, and loses nothing.

It is a stream of its own. In the one that the faults are about, servers of 2.9 would not stay in step: after a purge of
one subject, and after a change of the limit while something is published, replicas have different messages."""

import json
import time

from cluster import wait
from nats import Connection
from programs import KEY, Program, records
from publishers import PusherPublisher

CHANNELS = [f"limit-{number}" for number in range(3)]
MAX_BYTES, RATE, FULL_FOR = 1 << 20, 50, 5
OWN = "--stream", "LIMIT", "--prefix", "limit"


class LimitTest:
    def __init__(self, test, random):
        self.test, self.account = test, test.account
        where = (*OWN, *test.nats)
        bucket = ("--bucket", "LIMIT")
        test.must("relay setup", test.command(
            "relay", "setup", "--replicas", "3", "--max-bytes", MAX_BYTES, *bucket, *where))
        self.relay = Program(test.logs, "limit-relay", "relay", *CHANNELS, "--name", "limit", *bucket, *where, "--host",
                             test.network.home, "--port", test.mock.port, "--no-tls")
        self.reader = Program(test.logs, "limit-reader", "consume", "limit.>", "--since", "all", "--json", *where)
        self.publisher = PusherPublisher(test.network.home, test.mock.port, RATE, random, CHANNELS)

    def run(self):
        try:
            self.relay.start()
            self.reader.start()
            if not wait(lambda: all(f"relaying pusher:{KEY}:{channel}," in self.said() for channel in CHANNELS), 40):
                return self.account.check(False, "the relay of the small stream does not begin")
            self.publisher.start()
            wait(lambda: self.numbers(), 20)
            junk = self.fill()
            before = len(self.numbers())
            time.sleep(FULL_FOR)
            stored, is_told = len(self.numbers()) - before, " is full: " in self.said()
            self.purge()
            time.sleep(FULL_FOR)
            self.publisher.finish()
            sent = len(self.publisher.sent)
            wait(lambda: len(self.numbers()) >= sent, 20)
            self.count(junk, is_told, stored)
        finally:
            for program in (self.relay, self.reader):
                program.leave(2, within=20)

    def count(self, junk, is_told, stored):
        account, numbers, sent = self.account, self.numbers(), len(self.publisher.sent)
        missing, twice = set(range(sent)) - set(numbers), len(numbers) - len(set(numbers))
        account.row("small stream: messages of junk that filled it", junk)
        account.row("  events published", sent)
        account.row("  read", len(set(numbers)))
        account.row(f"  read within {FULL_FOR} s while it was full", stored)
        account.row("  the relay says so", "yes" if is_told else "no")
        account.check(not missing, f"{len(missing)} events are lost around a full stream")
        account.check(not twice, f"{twice} events came twice around a full stream")
        account.check(not self.publisher.failure, f"the publisher for the small stream has failed: {self.publisher.failure}")

    def said(self):
        return self.relay.log.read_text(errors="replace")

    def numbers(self):
        return [json.loads(record["data"])["n"] for record in records(self.reader.output)
                if record["type"] == "event" and record["event"] == "tick"]

    def fill(self):
        """Until nothing more goes in, however small."""
        connection, size, count = Connection(self.test.cluster.servers[0]), 128 << 10, 0
        while size > 64:
            if "error" in connection.answer(connection.ask("limit.junk", "x" * size)):
                size //= 2
            else:
                count += 1
        connection.close()
        return count

    def purge(self):
        connection = Connection(self.test.cluster.servers[0])
        connection.request("$JS.API.STREAM.PURGE.LIMIT")
        connection.close()
