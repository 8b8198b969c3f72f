"""An HTTP/1.1 server whose answers a scenario writes byte by byte."""

import json

import bombs
import frames
from measure import MIB
from peer import Gone, Peer


class Request:
    def __init__(self, connection, head, body):
        self.connection, self.head, self.body = connection, head, body
        self.method, self.target = head.split(b"\r\n")[0].decode("latin-1").split(" ")[:2]
        self.path = self.target.split("?")[0]

    def answer(self, body, status="200 OK", kind="application/json", fields=b"", length=None):
        body = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        self.connection.send(
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(body) if length is None else length}\r\n".encode() + fields + b"\r\n" + body)

    def start(self, status="200 OK", kind="application/json", fields=b""):
        """A head without an end."""
        self.connection.send(f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n".encode() + fields)


class HTTPPeer(Peer):
    """`answers(request)` plays each request of a connection."""

    def __init__(self, answers, context=None):
        self.answers = answers
        self.requests = 0
        super().__init__(context=context)

    def handle(self, connection):
        while True:
            head = connection.read_until(b"\r\n\r\n")
            if (frames.field(head, b"expect") or b"").lower() == b"100-continue":
                connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = connection.read_exactly(int(frames.field(head, b"content-length") or 0))
            self.requests += 1
            self.answers(Request(connection, head, body))


def repeat(connection, data, megabytes, patience=3):
    """Sends data until that much has gone out, then waits for the other side to close."""
    data = data * max(1, 65536 // len(data))
    for _ in range(max(1, int(megabytes * MIB) // len(data))):
        connection.send(data)
    connection.wait_for_end(patience)
    raise Gone("enough")


def slowly(connection, data, seconds, pause=0.25):
    connection.send_slowly(data, pause, seconds)
    raise Gone("enough")


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"

# Ways not to answer a request, for every client.
WAYS = {
    "header lines without end": lambda r: (r.start(), repeat(r.connection, b"X-Filler: " + b"f" * 100 + b"\r\n", 64)),
    "one header line without end": lambda r: (r.start(fields=b"X-Filler: "), repeat(r.connection, b"f" * 65536, 64)),
    "cookies without end": lambda r: (r.start(), repeat(r.connection, b"Set-Cookie: a=" + b"c" * 4000 + b"\r\n", 64)),
    "100 Continue without end": lambda r: repeat(r.connection, b"HTTP/1.1 100 Continue\r\n\r\n", 32),
    "chunk extensions without end": lambda r: (
        r.start(fields=CHUNKED + b"1;"), repeat(r.connection, b"extension=" + b"e" * 100 + b";", 64)),
    "chunks with long extensions": lambda r: (
        r.start(fields=CHUNKED), repeat(r.connection, b"1;" + b"e" * 5000 + b"\r\n{\r\n", 64)),
    "trailers without end": lambda r: (
        r.start(fields=CHUNKED + b"2\r\n{}\r\n0\r\n"), repeat(r.connection, b"X-Trailer: " + b"t" * 100 + b"\r\n", 64)),
    "a chunk of 2^64 bytes": lambda r: (
        r.start(fields=CHUNKED + b"ffffffffffffffff\r\n"), repeat(r.connection, b"x" * 65536, 16)),
    "a negative length": lambda r: (r.answer("{}", length=-1), r.connection.wait_for_end(1)),
    "two lengths": lambda r: (r.answer("{}", fields=b"Content-Length: 900\r\n"), r.connection.close()),
    "a length and chunks": lambda r: (
        r.start(fields=b"Content-Length: 3\r\n" + CHUNKED + b"2\r\n{}\r\n0\r\n\r\n"), r.connection.close()),
    "HTTP/0.9": lambda r: (r.connection.send(b"{}"), r.connection.close()),
    "HTTP/9.9": lambda r: (r.connection.send(b"HTTP/9.9 200 OK\r\n\r\n{}"), r.connection.close()),
    "status 99999": lambda r: (
        r.connection.send(b"HTTP/1.1 99999 x\r\nContent-Length: 2\r\n\r\n{}"), r.connection.close()),
    "NUL bytes in its head": lambda r: (r.start(fields=b"X\0Y: \0\0\r\n\0: x\r\n\r\n{}"), r.connection.close()),
    "a redirect to itself": lambda r: r.answer("", "302 Found", fields=b"Location: " + r.target.encode() + b"\r\n"),
    "redirects that grow": lambda r: r.answer("", "307 Temporary Redirect",
                                              fields=b"Location: " + r.target.encode() + b"x" * 8000 + b"\r\n"),
    "a redirect to a file": lambda r: r.answer("", "302 Found", fields=b"Location: file:///etc/passwd\r\n"),
    "a body that is shorter than said": lambda r: (r.answer("{}", length=1000), r.connection.close()),
    "a body without end": lambda r: (r.start(fields=b"\r\n"), repeat(r.connection, b'{"a":"' + b"x" * 65536, 128)),
    "a gzip bomb": lambda r: r.answer(bombs.gzipped(300), fields=b"Content-Encoding: gzip\r\n"),
    "a deflate bomb": lambda r: r.answer(bombs.zlibbed(300), fields=b"Content-Encoding: deflate\r\n"),
    "a gzip bomb in a gzip bomb": lambda r: r.answer(bombs.nested(200), fields=b"Content-Encoding: gzip, gzip\r\n"),
    "thirty codings": lambda r: r.answer(b"x" * 100, fields=b"Content-Encoding: " + b"gzip, " * 30 + b"gzip\r\n"),
    "a broken gzip": lambda r: r.answer(bombs.gzipped(1)[:500] + b"garbage", fields=b"Content-Encoding: gzip\r\n"),
    "JSON 100,000 deep": lambda r: r.answer("[" * 100_000 + "]" * 100_000),
    "objects 100,000 deep": lambda r: r.answer('{"a":' * 100_000 + "1" + "}" * 100_000),
    "a number of a million digits": lambda r: r.answer('{"a":' + "9" * 1_000_000 + "}"),
    "200,000 keys": lambda r: r.answer({f"key{step}": step for step in range(200_000)}),
    "no JSON": lambda r: r.answer("<html>log in first</html>", kind="text/html"),
    "nothing, and resets": lambda r: r.connection.reset(),
    "two answers at once": lambda r: r.connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" * 1000),
}
