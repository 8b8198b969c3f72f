"""WebSocket frames and handshakes by RFC 6455, and by nobody's rules."""

import base64
import hashlib
import os
import struct
import zlib

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def head(opcode, length, *, final=True, reserved=0, mask=None, form=None):
    """A frame's header. `form` (7, 16, 64) picks the length's, also where it is not the shortest."""
    first = (0x80 if final else 0) | reserved << 4 | opcode
    second = 0x80 if mask is not None else 0
    if form == 64 or (form is None and length > 0xFFFF):
        size = bytes([second | 127]) + struct.pack(">Q", length)
    elif form == 16 or (form is None and length > 125):
        size = bytes([second | 126]) + struct.pack(">H", length)
    else:
        size = bytes([second | length])
    return bytes([first]) + size + (mask or b"")


def frame(opcode, payload=b"", **options):
    mask = options.get("mask")
    if mask:
        payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
    return head(opcode, len(payload), **options) + payload


def text(payload, **options):
    return frame(TEXT, payload if isinstance(payload, bytes) else payload.encode(), **options)


def masked(opcode, payload=b"", **options):
    """As clients send. The mask of zeroes is as good as any, and free."""
    return head(opcode, len(payload), mask=b"\0\0\0\0", **options) + payload


def close(code=None, reason=b""):
    return frame(CLOSE, b"" if code is None else struct.pack(">H", code) + reason)


def accept_key(key):
    return base64.b64encode(hashlib.sha1(key + GUID).digest())


def field(request, name):
    """The value of a header field; None without."""
    for line in request.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.strip().lower() == name.lower():
            return value.strip()
    return None


def upgrade(request, extra=b""):
    """The answer 101 to a client's request."""
    return (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept_key(field(request, b"sec-websocket-key") or b"") + b"\r\n" + extra
            + b"\r\n")


def request(path, host):
    return (f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n"
            ).encode()


def read(connection):
    """The next frame of the other side: opcode and payload, unmasked and inflated."""
    first, second = connection.read_exactly(2)
    length = second & 0x7F
    if length == 126:
        length, = struct.unpack(">H", connection.read_exactly(2))
    elif length == 127:
        length, = struct.unpack(">Q", connection.read_exactly(8))
    mask = connection.read_exactly(4) if second & 0x80 else b"\0\0\0\0"
    payload = connection.read_exactly(length)
    if any(mask):
        size = len(payload)
        key = int.from_bytes((mask * (size // 4 + 1))[:size], "big")
        payload = (int.from_bytes(payload, "big") ^ key).to_bytes(size, "big")
    if first & 0x40:
        connection.inflater = connection.inflater or zlib.decompressobj(-15)
        payload = connection.inflater.decompress(payload + b"\0\0\xff\xff")
    return first & 0x0F, payload
