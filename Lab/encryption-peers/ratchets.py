"""Random conversations over Olm and Megolm: with loss, repetition, reordering and damage. Each message must be readable
or refused as the limits of both ratchets say, whoever is on which side."""

from peer import Refused, decode, encode

GAP, SKIPPED, CHAINS = 2_000, 40, 5


def must(holds, what):
    if not holds:
        raise AssertionError(what)


def refuses(what, call):
    try:
        answer = call()
    except Refused:
        return
    raise AssertionError(f"{what} was not refused: {answer}")


def some_text(random):
    size = random.choice([0, 1, 15, 16, 17, random.randrange(300), random.randrange(300), random.randrange(5_000)])
    return encode(random.randbytes(size))


def damaged(random, body, reader=None):
    """One bit of it is another: of the ciphertext or its code, unless the reader is strict about the rest as well."""
    raw = bytearray(decode(body))
    first = 0 if reader is None or reader.is_strict else len(raw) - 24
    raw[random.randrange(first, len(raw))] ^= 1 << random.randrange(8)
    return encode(bytes(raw))


# ------------------------------------------------------------------------------------------------------------- Olm

class Reader:
    """What one side of a session can read, by the limits that the specification and vodozemac set."""

    def __init__(self):
        self.chains = {}  # the next index and skipped ones, by ratchet key, the oldest first
        self.dropped = set()

    def can_read(self, message):
        if message.chain in self.dropped:
            return False
        next_index, skipped = self.chains.get(message.chain, (0, []))
        return message.index in skipped if message.index < next_index else message.index - next_index <= GAP

    def note(self, message):
        """It was read."""
        if message.chain not in self.chains:
            self.chains[message.chain] = 0, []
            for chain in list(self.chains)[:-CHAINS]:
                del self.chains[chain]
                self.dropped.add(chain)
        next_index, skipped = self.chains[message.chain]
        if message.index < next_index:
            skipped.remove(message.index)
        else:
            skipped = (skipped + list(range(next_index, message.index)))[-SKIPPED:]
            next_index = message.index + 1
        self.chains[message.chain] = next_index, skipped


class Message:
    def __init__(self, text, answer):
        self.text, self.type, self.body = text, answer["type"], answer["body"]
        raw = decode(self.body)
        if self.type == 0:
            # Version, three keys with their tags, then the message inside with its tag and length.
            must(raw[0] == 3 and raw[1:3] == b"\x0A\x20" and raw[35:37] == b"\x12\x20" and raw[69:71] == b"\x1A\x20"
                 and raw[103] == 0x22, "another form of pre-key message")
            length, at = varint(raw, 104)
            must(length == len(raw) - at, "another form of pre-key message")
            raw = raw[at:]
        must(raw[0] == 3 and raw[1:3] == b"\x0A\x20" and raw[35] == 0x10, "another form of message")
        self.chain = raw[3:35]
        self.index, at = varint(raw, 36)
        must(raw[at] == 0x22, "another form of message")


def varint(raw, at):
    value = shift = 0
    while True:
        byte, at = raw[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


class Side:
    def __init__(self, peer, keys):
        self.peer, self.reader, self.has_session = peer, Reader(), False
        self.account = peer("olm.account", account="a", keys=keys)

    def write(self, text):
        answer = self.peer("olm.encrypt", session="s", text=text)
        must((answer["type"] == 0) == (not self.reader.chains), "a pre-key message until there is an answer, then none")
        return answer

    def read(self, type, body, sender):
        if self.has_session:
            return self.peer("olm.decrypt", session="s", type=type, body=body)
        answer = self.peer("olm.accept", account="a", session="s", sender=sender, body=body)
        self.has_session = True
        return answer

    def store(self):
        if self.has_session and "olm.store" in self.peer.operations:
            self.peer("olm.store", session="s")


def olm(random, opener, other):
    counts = dict.fromkeys(("read", "lost", "read late", "repeated", "damaged", "too old or too far"), 0)
    sides = Side(opener, 1), Side(other, random.randint(1, 3))
    one_time_key = random.choice([*sides[1].account["keys"], sides[1].account["fallback"]])
    id = opener("olm.open", account="a", session="s", identity=sides[1].account["curve25519"], key=one_time_key)["id"]
    sides[0].has_session = True
    # On their way, by who reads them.
    ways = [], []

    def send(by):
        text = some_text(random)
        ways[1 - by].append(Message(text, sides[by].write(text)))

    def deliver(to):
        side, way = sides[to], ways[to]
        place = 0 if random.random() < 0.5 else random.randrange(len(way))
        message = way[place]
        sender = sides[1 - to].account["curve25519"]
        if random.random() < 0.15:
            wrong = damaged(random, message.body, side.peer)
            refuses("a damaged message", lambda: side.read(message.type, wrong, sender))
            counts["damaged"] += 1
        if random.random() < 0.1:
            side.store()
        if side.reader.can_read(message):
            is_first = not side.has_session
            answer = side.read(message.type, message.body, sender)
            must(answer["text"] == message.text, "another text")
            must(not is_first or answer["id"] == id, "another id")
            latest = side.reader.chains.get(message.chain, (0, []))[0]
            counts["read" if message.index >= latest else "read late"] += 1
            side.reader.note(message)
        else:
            refuses("a message that is too old or too far", lambda: side.read(message.type, message.body, sender))
            counts["too old or too far"] += 1
        if random.random() < 0.15:
            refuses("a repeated message", lambda: side.read(message.type, message.body, sender))
            counts["repeated"] += 1
        del way[place]

    for _ in range(random.randint(4, 60)):
        by = random.randrange(2)
        if sides[by].has_session and random.random() < 0.55:
            # Now and then so many that some keys, or the whole chain, are lost.
            much = random.random()
            some = [GAP - 1, GAP, GAP + 1] if much < 0.0005 else [39, 40, 41, 60] if much < 0.03 else [1, 2, 3, 4]
            for _ in range(random.choice(some)):
                send(by)
        elif ways[by]:
            if random.random() < 0.12:
                lost = random.randint(1, len(ways[by]))
                del ways[by][:lost]
                counts["lost"] += lost
            else:
                deliver(by)
    for to in range(2):
        for _ in range(min(len(ways[to]), 60)):
            deliver(to)
        counts["lost"] += len(ways[to])
    return counts


# ----------------------------------------------------------------------------------------------------------- Megolm

LAST = (1 << 32) - 1


def some_index(random, least):
    """Near where several parts of the ratchet turn at once, as often as anywhere."""
    near = random.choice([1, 1 << 8, 1 << 16, 1 << 24])
    index = least + random.choice([0, 1, 2, random.randrange(near), near - (least % near) - 1, near - (least % near)])
    return max(min(index, LAST - 40), least)


def megolm(random, owner, other):
    counts = dict.fromkeys(("read", "from before", "repeated", "damaged", "imported"), 0)
    begin = random.choice([0, some_index(random, 0), random.randrange(LAST - 40)])
    id = owner("megolm.make", session="s", index=begin)["id"]
    messages, readers = [], []

    def receive(key, how, peer):
        session = f"r{len(readers)}"
        answer = peer("megolm." + how, session=session, key=key)
        must(answer["id"] == id, "another id")
        readers.append((peer, session, answer["first"]))
        return answer["first"]

    shared = owner("megolm.key", session="s")["key"]
    refuses("a damaged session key", lambda: other("megolm.receive", session="x", key=damaged(random, shared)))
    first = receive(shared, "receive", other)
    receive(shared, "receive", owner)
    index = first
    for _ in range(random.randint(2, 8)):
        if random.random() < 0.4:
            index = some_index(random, index)
            owner("megolm.skip", session="s", index=index)
            if random.random() < 0.5:
                must(receive(owner("megolm.key", session="s")["key"], "receive", other) == index, "another index")
        text = some_text(random)
        answer = owner("megolm.encrypt", session="s", text=text)
        must(answer["index"] == index, "another index")
        messages.append((index, text, answer["body"]))
        index += 1
    # Keys at random indices, from one side to the other, and back.
    for at in range(random.randint(0, 3)):
        peer, session, first_known = random.choice(readers)
        if first_known > 0 and random.random() < 0.3:
            earlier = random.randrange(first_known)
            refuses("an earlier key", lambda: peer("megolm.export", session=session, index=earlier))
        wanted = some_index(random, first_known)
        key = peer("megolm.export", session=session, index=wanted)["key"]
        must(receive(key, "import", other if peer is owner else owner) == wanted, "another index")
        counts["imported"] += 1
    for peer in (owner, other):
        mine = [session for reader, session, _ in readers if reader is peer]
        if len(mine) > 1 and "megolm.connected" in peer.operations:
            one, two = random.sample(mine, 2)
            must(peer("megolm.connected", session=one, other=two)["connected"], "they are one session")

    for peer, session, first_known in readers:
        for number, text, body in random.sample(messages, len(messages)):
            if random.random() < 0.15:
                continue  # lost
            if random.random() < 0.1 and "megolm.store" in peer.operations:
                peer("megolm.store", session=session)
            if random.random() < 0.1:
                wrong = damaged(random, body, peer)
                refuses("a damaged message", lambda: peer("megolm.decrypt", session=session, body=wrong))
                counts["damaged"] += 1
            if number < first_known:
                refuses("a message from before", lambda: peer("megolm.decrypt", session=session, body=body))
                counts["from before"] += 1
                continue
            for time in range(2 if random.random() < 0.2 else 1):
                read = peer("megolm.decrypt", session=session, body=body)
                must(read == {"text": text, "index": number}, "another text")
                counts["repeated" if time else "read"] += 1
    return counts
