"""A homeserver that answers what `pusher-cli matrix chat` asks, and whose syncs are pushed by whoever measures."""

import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USER, ROOM = "@ann:bench", "!room0:bench"


def message(name, body, time):
    return {"type": "m.room.message", "event_id": f"${name}", "sender": f"@u{time // 1000 % 7}:bench",
            "origin_server_ts": time, "content": {"msgtype": "m.text", "body": body}}


def state(kind, key, content, number):
    return {"type": kind, "state_key": key, "event_id": f"$s{number}", "sender": USER, "origin_server_ts": 1,
            "content": content}


def joined(room, name, events):
    members = [USER] + [f"@u{number}:bench" for number in range(7)]
    states = [state("m.room.member", user, {"membership": "join", "displayname": user[1:3].upper()}, f"{room}{user}")
              for user in members]
    states.append(state("m.room.name", "", {"name": name}, f"{room}name"))
    return {"state": {"events": states}, "timeline": {"events": events, "prev_batch": "p0", "limited": True}}


class ChatServer:
    def __init__(self, rooms, events):
        self.changed = threading.Condition()
        self.news = deque()
        self.brought = 0  # of the news
        self.poll = 0
        self.token = 0
        self.page = 0
        self.time = 1_700_000_000_000
        self.numbers = iter(range(1, 10**9))
        timeline = [self.next_message("history") for _ in range(events)]
        self.first = {"join": {ROOM: joined(ROOM, "The room", timeline)} | {
            f"!room{number}:bench": joined(f"!room{number}:bench", f"Room {number}", [self.next_message("hello")])
            for number in range(1, rooms)}}
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def respond(self):
                length = int(self.headers.get("Content-Length") or 0)
                if length:
                    self.rfile.read(length)
                answer = server.answer(self.path)
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except ConnectionError:  # the chat has ended
                    self.close_connection = True

            do_GET = do_POST = do_PUT = respond

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_port}"

    def next_message(self, body):
        self.time += 90_000
        number = next(self.numbers)
        return message(number, f"{body} {number}", self.time)

    def answer(self, path):
        if "/versions" in path:
            return {"versions": ["v1.11"]}
        if "/login" in path:
            return {"user_id": USER, "access_token": "token", "device_id": "BENCH", "home_server": "bench",
                    "flows": [{"type": "m.login.password"}]}
        if "/sync" in path:
            return self.sync("since=" in path)
        if "/messages" in path:
            self.page += 1
            # Older and older; the page of a hundred that is asked for.
            chunk = [message(f"p{self.page}-{n}", f"older {self.page} {n}", 1_600_000_000_000 - self.page * 10**7 - n * 10**5)
                     for n in range(100)]
            return {"chunk": chunk, "start": "p", "end": f"p{self.page}"}
        if "/whoami" in path:
            return {"user_id": USER, "device_id": "BENCH"}
        if "/keys/upload" in path:
            return {"one_time_key_counts": {"signed_curve25519": 50}}
        if "/send/" in path:
            return {"event_id": f"$sent{next(self.numbers)}"}
        return {}

    def sync(self, is_later):
        self.token += 1
        answer = {"next_batch": f"s{self.token}", "device_one_time_keys_count": {"signed_curve25519": 50},
                  "device_unused_fallback_key_types": ["signed_curve25519"]}
        if not is_later:
            return answer | {"rooms": self.first}
        with self.changed:
            self.poll += 1
            poll = self.poll
            self.changed.notify_all()
            # A poll of a chat that has ended takes nothing from the next one.
            self.changed.wait_for(lambda: self.news or self.poll != poll, timeout=25)
            if self.poll != poll or not self.news:
                return answer
            events = self.news.popleft()
            self.brought += 1
        rooms = b'{"join": {"%s": {"timeline": {"events": %s}}}}' % (ROOM.encode(), events)
        return json.dumps(answer).encode()[:-1] + b', "rooms": ' + rooms + b"}"

    def bring(self, events):
        """Answers the sync that waits, or the next one."""
        self.bring_encoded(self.encode(events))

    @staticmethod
    def encode(events):
        return json.dumps(events).encode()

    def bring_encoded(self, events):
        """What is encoded beforehand takes no time from whoever measures."""
        with self.changed:
            self.news.append(events)
            self.changed.notify_all()
