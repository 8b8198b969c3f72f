"""What is relayed: numbered events of each source. A schedule and a seed decide what comes when, and who gets it."""

import hashlib
import hmac
import http.client
import json
import threading
import time
import urllib.parse

from programs import APP, KEY, SECRET

EVENTS_IN_BATCH = 10  # the most that Pusher's HTTP API takes
PAUSE = 0.3  # seconds, after a failure


class Publisher:
    """Sends on a thread of its own, at a rate, whatever the server does meanwhile."""

    timeout = 30
    step = 1  # numbers that are sent at once

    def __init__(self, host, port, rate, random):
        self.host, self.port, self.rate, self.random = host, port, rate, random
        self.sent = []  # by number
        self.failures = 0
        self.failure = None  # what ended it
        self.is_ended = threading.Event()
        self.connection = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()

    def finish(self):
        self.is_ended.set()
        self.thread.join()

    def run(self):
        try:
            due = time.monotonic()
            while not self.is_ended.is_set():
                self.send()
                # After an outage it does not hurry.
                due = max(due + self.step / self.rate, time.monotonic() - 1)
                time.sleep(max(0, due - time.monotonic()))
        except (ValueError, LookupError) as error:
            self.failure = f"{type(error).__name__}: {error}"

    def request(self, method, path, body, fields):
        """Status and text of the answer; None if there was none, so that nobody knows what became of it."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
            self.connection.request(method, path, body, fields)
            answer = self.connection.getresponse()
            self.fields = answer.headers
            return answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException):
            self.failures += 1
            if self.connection:
                self.connection.close()
            self.connection = None
            time.sleep(PAUSE)
            return None


class PusherPublisher(Publisher):
    """On random channels. An event without an answer may have been sent or not."""

    step = EVENTS_IN_BATCH

    def __init__(self, host, port, rate, random, channels):
        super().__init__(host, port, rate, random)
        self.channels = channels

    def send(self):
        channels = [self.random.choice(self.channels) for _ in range(EVENTS_IN_BATCH)]
        before = time.time() * 1000
        batch = [{"channel": channel, "name": "tick",
                  "data": json.dumps({"n": len(self.sent) + index, "t": int(before)})}
                 for index, channel in enumerate(channels)]
        body = json.dumps({"batch": batch}).encode()
        path = f"/apps/{APP}/batch_events"
        query = (f"auth_key={KEY}&auth_timestamp={int(time.time())}&auth_version=1.0"
                 f"&body_md5={hashlib.md5(body).hexdigest()}")
        signature = hmac.new(SECRET.encode(), f"POST\n{path}\n{query}".encode(), hashlib.sha256).hexdigest()
        answer = self.request("POST", f"{path}?{query}&auth_signature={signature}", body,
                              {"Content-Type": "application/json"})
        if answer and answer[0] != 200:
            raise ValueError(f"the mock server answers {answer[0]}: {answer[1][:200]!r}")
        after = time.time() * 1000
        self.sent += [(channel, before, after, answer is not None) for channel in channels]


class MatrixPublisher(Publisher):
    """Messages of one user into random rooms. One without an answer is sent again with the same transaction."""

    def __init__(self, host, port, rate, random, token, rooms):
        super().__init__(host, port, rate, random)
        self.token, self.rooms = token, rooms

    def send(self, room=None):
        room = room or self.random.choice(self.rooms)
        number = len(self.sent)
        path = f"/_matrix/client/v3/rooms/{urllib.parse.quote(room)}/send/m.room.message/relay-test-{number}"
        body = json.dumps({"msgtype": "m.text", "body": f"number {number}"})
        answer = None
        while answer is None:
            answer = self.request("PUT", path, body, {"Authorization": f"Bearer {self.token}"})
            if answer and answer[0] >= 500:  # it has just started, or its database is locked
                answer = None
                time.sleep(PAUSE)
        if answer[0] != 200:
            raise ValueError(f"the homeserver answers {answer[0]}: {answer[1][:200]!r}")
        self.sent.append(room)


class PydioPublisher(Publisher):
    """Makes folders. One without an answer is made again, which does nothing if it is there."""

    def __init__(self, host, port, rate, random, user, password, workspace):
        super().__init__(host, port, rate, random)
        self.user, self.password, self.workspace = user, password, workspace
        self.cookie = self.token = None

    def send(self):
        number = len(self.sent)
        while True:
            if self.token or self.log_in():
                answer = self.call("mkdir", dir="/", dirname=f"n-{number}", ignore_exists="true",
                                   tmp_repository_id=self.workspace)
                if answer and 'type="SUCCESS"' in answer:
                    self.sent.append(self.workspace)
                    return
            self.token = None  # one that was killed has forgotten all sessions
            if self.failures > 2000:
                raise ValueError("the Pydio mock does not make a folder")

    def log_in(self):
        self.cookie = None
        if (seed := self.call("get_seed")) is None:
            return False
        answer = self.call("login", userid=self.user, password=self.password, login_seed=seed.strip())
        if answer is None or 'secure_token="' not in answer:
            return False
        self.token = answer.split('secure_token="', 1)[1].split('"', 1)[0]
        return True

    def call(self, action, **parameters):
        if self.token:
            parameters["secure_token"] = self.token
        body = urllib.parse.urlencode({"get_action": action, **parameters})
        fields = {"Content-Type": "application/x-www-form-urlencoded"}
        if self.cookie:
            fields["Cookie"] = self.cookie
        answer = self.request("POST", "/index.php", body, fields)
        if answer is None or answer[0] != 200:
            return None
        for cookie in self.fields.get_all("Set-Cookie", []):
            self.cookie = cookie.split(";", 1)[0]
        return answer[1]
