"""Makes answers of /sync, the same at every run:  generate FOLDER

    initial.json        of 200 rooms with 25,000 events in state and timelines, about 10 MB
    incremental.jsonl   what came after it, one answer a line

Made up, but of the kinds, shapes and sizes that homeservers send. Every other room escapes what is not ASCII, as Synapse
does; the rest is UTF-8, as from most other servers. Prints one line of JSON with the counts."""

import json
import random
import sys
from pathlib import Path

SEED, ROOMS, EVENTS, INCREMENTAL = 20_261, 200, 25_000, 400
START = 1_750_000_000_000
WORDS = """the of and to in that was his he it with is for as had you not be her on at by which have or from this him but
all she they were my are me one their so an said them we who would been will no when there if more out up into any your
what has man could other than our some very time upon about may its only now like little then can should made did us such
a great before must two these see know over much down after first mr good men own never most old shall day where those
naïve café Zürich größer señor été déjà 東京 渋谷 会議 明日 привет завтра Москва שלום مرحبا""".split()
EMOJI = ["👍", "❤️", "😂", "🎉", "👀", "🙏🏽", "✅", "+1", "🇯🇵"]
NAMES = ["Ann", "Bob", "Çelik", "Dörte", "Élise", "Jürgen", "Kenji 健二", "Мария", "Olu", "Zoë \"Z\"", "Bot\\Relay", "W. 🌍"]
SYMBOLS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class Room:
    """One room's past, from which its answers are cut."""

    def __init__(self, world, index, member_count):
        self.world, self.random = world, world.random
        self.id = world.identifier("!")
        self.index = index
        self.members = [world.me, *self.random.sample(world.users, member_count - 1)]
        self.recent = []  # messages: their ids and senders

    def state(self):
        creator = self.members[1] if len(self.members) > 1 else self.members[0]
        world = self.world
        yield world.event("m.room.create", {"room_version": "12"}, creator, "")
        yield world.event("m.room.power_levels", {
            "ban": 50, "events": {"m.room.name": 50, "m.room.power_levels": 100, "m.room.tombstone": 150},
            "events_default": 0, "invite": 0, "kick": 50, "redact": 50, "state_default": 50, "users_default": 0,
            "users": {user: 50 for user in self.members[2:5]}}, creator, "")
        yield world.event("m.room.join_rules", {"join_rule": "invite"}, creator, "")
        yield world.event("m.room.history_visibility", {"history_visibility": "shared"}, creator, "")
        if self.index % 5:
            yield world.event("m.room.name", {"name": world.text(2, 5)}, creator, "")
            yield world.event("m.room.topic", {"topic": world.text(5, 40)}, creator, "")
        for user in self.members:
            yield world.event("m.room.member", world.profile(user), user, user)

    def timeline(self, count):
        for _ in range(count):
            yield self.timeline_event()

    def timeline_event(self):
        world, sender = self.world, self.random.choice(self.members)
        target, author = self.random.choice(self.recent[-20:]) if self.recent else (None, sender)
        kind = self.random.random()
        if target is None or kind < 0.66:
            event = world.event("m.room.message", self.message(target), sender)
            self.recent.append((event["event_id"], sender))
            return event
        if kind < 0.84:
            relation = {"rel_type": "m.annotation", "event_id": target, "key": self.random.choice(EMOJI)}
            return world.event("m.reaction", {"m.relates_to": relation}, sender)
        if kind < 0.92:
            text = world.text(3, 40)
            return world.event("m.room.message", {
                "msgtype": "m.text", "body": f"* {text}", "m.new_content": {"msgtype": "m.text", "body": text},
                "m.relates_to": {"rel_type": "m.replace", "event_id": target}}, author)
        if kind < 0.95:
            event = world.event("m.room.redaction", {"redacts": target, "reason": world.text(1, 4)}, author)
            return event | {"redacts": target}
        return world.event("m.room.member", world.profile(sender), sender, sender)

    def message(self, target):
        world, kind = self.world, self.random.random()
        if kind < 0.07:
            size = self.random.randrange(10_000, 4_000_000)
            return {"msgtype": "m.image", "body": f"IMG_{size}.jpg", "url": f"mxc://hs.test/{world.word(24)}",
                    "info": {"w": 1920, "h": 1080, "mimetype": "image/jpeg", "size": size,
                             "thumbnail_url": f"mxc://hs.test/{world.word(24)}",
                             "thumbnail_info": {"w": 800, "h": 450, "mimetype": "image/jpeg", "size": size // 20}}}
        text = world.text(2, 90 if kind < 0.2 else 34)
        content = {"msgtype": "m.notice" if kind > 0.97 else "m.text", "body": text, "m.mentions": {}}
        if kind < 0.3:
            paragraphs = text.replace("\n", "<br/>").replace('"', "&quot;")
            content |= {"format": "org.matrix.custom.html", "formatted_body": f"<p><strong>{paragraphs}</strong></p>"}
        if target and 0.3 < kind < 0.45:
            content["m.relates_to"] = {"m.in_reply_to": {"event_id": target}}
            content["m.mentions"] = {"user_ids": [self.random.choice(self.members)]}
        return content

    def receipts(self, count):
        readers = self.random.sample(self.members, min(count, len(self.members)))
        content = {}
        for user in readers:
            event, _ = self.random.choice(self.recent[-10:])
            content.setdefault(event, {}).setdefault("m.read", {})[user] = {"ts": self.world.tick(), "thread_id": "main"}
        return {"type": "m.receipt", "content": content}

    def typing(self):
        users = self.random.sample(self.members, self.random.randrange(min(3, len(self.members))))
        return {"type": "m.typing", "content": {"user_ids": users}}

    def joined(self, state, timeline, is_initial):
        unread = self.random.choice([0, 0, 1, 3, 12, 140])
        ephemeral = [self.receipts(30 if is_initial else 2)] if self.recent else []
        if not is_initial and self.random.random() < 0.5:
            ephemeral.append(self.typing())
        account = [{"type": "m.fully_read", "content": {"event_id": self.recent[0][0]}}] if self.recent and is_initial else []
        if is_initial and self.index % 7 == 0:
            account.append({"type": "m.tag", "content": {"tags": {"m.favourite": {"order": self.index / 200}}}})
        return {
            "timeline": {"events": timeline, "prev_batch": f"t{self.world.word(30)}", "limited": is_initial},
            "state": {"events": state},
            "account_data": {"events": account},
            "ephemeral": {"events": ephemeral},
            "unread_notifications": {"notification_count": unread, "highlight_count": unread // 10},
            "unread_thread_notifications": {},
            "summary": {"m.joined_member_count": len(self.members), "m.invited_member_count": 0,
                        "m.heroes": self.members[1:6]} if is_initial else {},
        }


class World:
    def __init__(self):
        self.random = random.Random(SEED)
        self.now = START
        self.users = [f"@{self.word(8).lower()}:{self.random.choice(['hs.test', 'matrix.example', 'chat.example.org'])}"
                      for _ in range(1500)]
        self.me = "@me:hs.test"
        sizes = [min(2 + int(self.random.paretovariate(0.9) * 6), 400) for _ in range(ROOMS)]
        self.rooms = [Room(self, index, size) for index, size in enumerate(sizes)]

    def tick(self):
        self.now += self.random.randrange(200, 40_000)
        return self.now

    def word(self, length):
        return "".join(self.random.choices(SYMBOLS, k=length))

    def identifier(self, sigil):
        return sigil + self.word(43)

    def text(self, least, most):
        words = self.random.choices(WORDS, k=self.random.randrange(least, most + 1))
        for index in range(9, len(words), 10):
            words[index] = self.random.choice([f'"{words[index]}"', f"{words[index]}\n", "👋", "C:\\tmp", "a/b", "\t-"])
        return " ".join(words)

    def profile(self, user):
        index = hash_of(user)
        return {"membership": "join", "displayname": f"{NAMES[index % len(NAMES)]} {index % 97}",
                "avatar_url": f"mxc://hs.test/{self.word(24)}"}

    def event(self, kind, content, sender, state_key=None):
        event = {"type": kind, "sender": sender, "content": content}
        if state_key is not None:
            event["state_key"] = state_key
        event |= {"origin_server_ts": self.tick(), "unsigned": {"membership": "join", "age": START * 2 - self.now},
                  "event_id": self.identifier("$")}
        return event

    def initial(self):
        states = [list(room.state()) for room in self.rooms]
        # What the state leaves of the events goes to the timelines: a few busy rooms, many quiet ones.
        left = EVENTS - sum(map(len, states))
        weights = [min(self.random.paretovariate(1.1), 12) for _ in self.rooms]
        shares = [int(left * weight / sum(weights)) for weight in weights]
        shares[0] += left - sum(shares)
        joined = []
        for room, state, share in zip(self.rooms, states, shares):
            joined.append((room, room.joined(state, list(room.timeline(share)), is_initial=True)))
        return self.answer(joined, "s1_0", {
            "account_data": {"events": [
                {"type": "m.direct", "content": {user: [room.id] for user, room in zip(self.users, self.rooms[:20])}},
                {"type": "m.ignored_user_list", "content": {"ignored_users": {self.users[-1]: {}}}}]},
            "presence": {"events": [
                {"type": "m.presence", "sender": user, "content": {
                    "presence": "online", "last_active_ago": 1000 * index, "currently_active": True}}
                for index, user in enumerate(self.users[:100])]}})

    def incremental(self, number):
        joined = []
        for room in self.random.sample(self.rooms, self.random.choice([1, 1, 1, 2, 3, 8])):
            timeline = list(room.timeline(self.random.choice([0, 1, 1, 1, 2, 5, 20])))
            joined.append((room, room.joined([], timeline, is_initial=False)))
        return self.answer(joined, f"s1_{number}")

    def answer(self, joined, next_batch, more=None):
        """JSON text: each room in its way of escaping."""
        rooms = ",".join(f"{compact(room.id)}:{compact(part, room.index % 2 == 0)}" for room, part in joined)
        rest = {"next_batch": next_batch, "device_one_time_keys_count": {"signed_curve25519": 50},
                "device_unused_fallback_key_types": ["signed_curve25519"], "device_lists": {"changed": [], "left": []},
                "to_device": {"events": []}} | (more or {})
        return f'{compact(rest)[:-1]},"rooms":{{"join":{{{rooms}}}}}}}'


def hash_of(text):
    """Python's own differs between runs."""
    return sum(byte * (index + 1) for index, byte in enumerate(text.encode()))


def compact(value, is_escaped=True):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=is_escaped)


def counts(text):
    rooms = json.loads(text)["rooms"]["join"].values()
    return {"bytes": len(text.encode()), "rooms": len(rooms),
            "events": sum(len(room["state"]["events"]) + len(room["timeline"]["events"]) for room in rooms)}


def generate(folder):
    """Returns what is in the files."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    world = World()
    initial = world.initial()
    (folder / "initial.json").write_text(initial)
    lines = [world.incremental(number) for number in range(1, INCREMENTAL + 1)]
    (folder / "incremental.jsonl").write_text("".join(f"{line}\n" for line in lines))
    parts = [counts(line) for line in lines]
    totals = {key: sum(part[key] for part in parts) for key in ("bytes", "rooms", "events")}
    return {"initial": counts(initial), "incremental": {"answers": len(lines)} | totals}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(json.dumps(generate(sys.argv[1])))
