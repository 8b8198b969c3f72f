"""Little that becomes much: spaces, compressed. One block of a mebibyte is compressed, and repeated."""

import functools
import gzip
import struct
import zlib

from measure import MIB

BLOCK = b" " * MIB


@functools.cache
def deflated(megabytes):
    """Without a head, as a WebSocket's message has it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (packer.compress(BLOCK) + packer.flush(zlib.Z_FULL_FLUSH)) * megabytes


def compressed(text):
    """A WebSocket's message that refers to none before it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (packer.compress(text.encode()) + packer.flush(zlib.Z_FULL_FLUSH))[:-4]


def checksum(function, start, megabytes):
    for _ in range(megabytes):
        start = function(BLOCK, start)
    return start


@functools.cache
def gzipped(megabytes):
    tail = struct.pack("<II", checksum(zlib.crc32, 0, megabytes), megabytes * MIB & 0xFFFFFFFF)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + deflated(megabytes) + b"\x03\0" + tail


@functools.cache
def zlibbed(megabytes):
    return b"\x78\x9c" + deflated(megabytes) + b"\x03\0" + struct.pack(">I", checksum(zlib.adler32, 1, megabytes))


@functools.cache
def nested(megabytes):
    return gzip.compress(gzipped(megabytes), 9)
