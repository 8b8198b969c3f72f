"""As much of the protocol of NATS as reading a stream takes, so that it is read by nothing that is tested."""

import json
import socket


class Message:
    """One message of a stream."""

    def __init__(self, subject, reply, headers, payload):
        self.subject, self.headers, self.payload = subject, headers, payload
        # $JS.ACK.<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer sequence>.<time>.<pending>
        tokens = (reply or "").split(".")
        self.sequence, self.time = (int(tokens[5]), int(tokens[7]) / 1e9) if len(tokens) >= 9 else (0, 0.0)


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.input = self.socket.makefile("rb")
        self.input.readline()  # INFO
        self.send('CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true}\r\nPING\r\n')
        while self.input.readline().strip() != b"PONG":
            pass
        self.subscriptions = 0
        self.early = []  # came before an answer

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

    def request(self, subject, body):
        inbox = f"_INBOX.relay-test.{self.subscriptions + 1}"
        self.subscribe(inbox)
        payload = json.dumps(body) if body else ""
        self.send(f"PUB {subject} {inbox} {len(payload)}\r\n{payload}\r\n")
        answer = self.receive()
        while answer.subject != inbox:
            self.early.append(answer)
            answer = self.receive()
        result = json.loads(answer.payload or '{"error":{"description":"no responders"}}')
        if "error" in result:
            raise ConnectionError(f"{subject}: {result['error'].get('description')}")
        return result

    def messages(self, stream):
        """All messages of a stream, in order."""
        last = self.request(f"$JS.API.STREAM.INFO.{stream}", None)["state"]["last_seq"]
        if not last:
            return
        deliver = f"_INBOX.relay-test.all.{stream}"
        self.subscribe(deliver)
        self.request(f"$JS.API.CONSUMER.CREATE.{stream}", {"stream_name": stream, "config": {
            "deliver_subject": deliver, "deliver_policy": "all", "ack_policy": "none", "replay_policy": "instant",
            "mem_storage": True, "num_replicas": 1}})
        sequence = 0
        while sequence < last:
            message = self.next()
            if message.sequence != 0:
                sequence = message.sequence
                yield message
