"""As much of the protocol of NATS as the test takes, so that the stream is read and changed by nothing that is tested."""

import json
import socket
import time

SILENCE = 15  # seconds; servers send a PING every 10


class Message:
    """One message of a stream."""

    def __init__(self, subject, reply, headers, payload):
        self.subject, self.headers, self.payload = subject, headers, payload
        # $JS.ACK.<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer sequence>.<time>.<pending>
        tokens = (reply or "").split(".")
        self.sequence, self.time = (int(tokens[5]), int(tokens[7]) / 1e9) if len(tokens) >= 9 else (0, 0.0)


class Connection:
    def __init__(self, server):
        self.socket = socket.create_connection((server.address, server.port), timeout=2 * SILENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = self.socket.makefile("rb")
        self.version = json.loads(self.input.readline().split(b" ", 1)[1])["version"]
        self.send('CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\nPING\r\n')
        while self.input.readline().strip() != b"PONG":
            pass
        self.subscriptions = 0
        self.early = []  # came before an answer
        self.end = None  # of the time in which something must come

    def close(self):
        self.socket.close()

    def send(self, text):
        self.socket.sendall(text.encode())

    def subscribe(self, subject):
        self.subscriptions += 1
        self.send(f"SUB {subject} {self.subscriptions}\r\n")

    def next(self):
        if self.early:
            return self.early.pop(0)
        return self.receive()

    def receive(self):
        while True:
            line = self.input.readline()
            if not line:
                raise ConnectionError("the server has closed the connection")
            verb, *parts = line.decode().split()
            if verb == "PING":
                self.send("PONG\r\n")
                if self.end is not None and time.monotonic() > self.end:
                    raise TimeoutError("nothing comes any more")
            elif verb in ("MSG", "HMSG"):
                sizes = 2 if verb == "HMSG" else 1
                head = int(parts[-2]) if sizes == 2 else 0
                body = self.input.read(int(parts[-1]) + 2)[:-2]
                reply = parts[2] if len(parts) == 3 + sizes else None
                return Message(parts[0], reply, self.headers(body[:head]), body[head:])
            elif verb == "-ERR":
                raise ConnectionError(line.decode().strip())

    @staticmethod
    def headers(head):
        lines = head.decode().split("\r\n")[1:]
        return dict((name, value.strip()) for name, _, value in (line.partition(":") for line in lines if line))

    def ask(self, subject, payload="", headers=None):
        """Sends a request; `answer` has what comes back."""
        inbox = f"_INBOX.relay-test.{self.subscriptions + 1}"
        self.subscribe(inbox)
        head = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        if head:
            head = f"NATS/1.0\r\n{head}\r\n"
            self.send(f"HPUB {subject} {inbox} {len(head)} {len(head) + len(payload)}\r\n{head}{payload}\r\n")
        else:
            self.send(f"PUB {subject} {inbox} {len(payload)}\r\n{payload}\r\n")
        return inbox

    def answer(self, inbox):
        answer = self.receive()
        while answer.subject != inbox:
            self.early.append(answer)
            answer = self.receive()
        return json.loads(answer.payload or '{"error":{"description":"no responders"}}')

    def request(self, subject, body=None):
        result = self.answer(self.ask(subject, json.dumps(body) if body else ""))
        if "error" in result:
            raise ConnectionError(f"{subject}: {result['error'].get('description')}")
        return result

    def messages(self, stream):
        """All messages of a stream, in order."""
        last = self.request(f"$JS.API.STREAM.INFO.{stream}")["state"]["last_seq"]
        if not last:
            return
        deliver = f"_INBOX.relay-test.all.{stream}"
        self.subscribe(deliver)
        self.request(f"$JS.API.CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": {
            "deliver_subject": deliver, "deliver_policy": "all", "ack_policy": "none", "replay_policy": "instant",
            "mem_storage": True, "num_replicas": 1}})
        sequence = 0
        while sequence < last:
            self.end = time.monotonic() + SILENCE
            message = self.next()
            if message.sequence != 0:
                sequence = message.sequence
                yield message
