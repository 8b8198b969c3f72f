"""Builds the programs of Lab/Benchmarks/, and runs them."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / ".build/bench"
CLI = BUILD / "pusher-cli"
CONFIGURATION = os.environ.get("CONFIGURATION", "release")
SMOKE = bool(os.environ.get("SMOKE"))  # shows that everything still runs; the figures mean nothing
ROUNDS = 1 if SMOKE else int(os.environ.get("ROUNDS", 5))
LIBRARIES = "libcurl", "libssl", "libcrypto", "libsodium", "libnats"


def few(count):
    """A hundredth of it for a smoke test."""
    return max(count // 100, 1) if SMOKE else count


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


def build():
    build_command()
    flags = run("pkg-config", "--cflags", "--libs", *LIBRARIES, capture_output=True, text=True).stdout.split()
    for source in (ROOT / "Lab/Benchmarks/C").glob("*.c"):
        run("cc", "-O2", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-o", BUILD / source.stem, source, *flags)
    run(ROOT / "Scripts/build-without-traits", "-c", CONFIGURATION, "--package-path", ROOT / "Lab/Benchmarks")


def build_command():
    BUILD.mkdir(parents=True, exist_ok=True)
    build_product("pusher-cli")
    run("strip", "-o", CLI, ROOT / ".build" / CONFIGURATION / "pusher-cli")


def build_product(name):
    """In release mode as Scripts/release does: other options would compile everything anew."""
    options = ["--static-swift-stdlib"] if CONFIGURATION == "release" else []
    # What the linker says of mktemp is shown with real errors only.
    result = subprocess.run(["swift", "build", "--quiet", "-c", CONFIGURATION, *options, "--product", name], cwd=ROOT,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(result.stdout)


def make_certificate():
    """A certificate for 127.0.0.1 that trusts itself, and its key."""
    certificate, key = BUILD / "certificate.pem", BUILD / "key.pem"
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
        stderr=subprocess.DEVNULL)
    return certificate, key


def swift_program(name):
    return ROOT / ".build-plain" / CONFIGURATION / name


def swift_command(name, **arguments):
    """One of Lab/Benchmarks/Sources, with its arguments as pairs of name and value; what is None is left out."""
    pairs = [(key.replace("_", "-"), value) for key, value in arguments.items() if value is not None]
    return [swift_program(name), *(word for pair in pairs for word in pair)]


def output_of(*command, timeout=120):
    return run(*command, stdout=subprocess.PIPE, text=True, timeout=timeout).stdout


def measure(*command):
    """The JSON that a program prints."""
    return json.loads(output_of(*command).splitlines()[-1])


def cpu_seconds(process):
    """User and system, all threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Server:
    """A program that says where it listens."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        line = self.line()
        if not line.startswith("listening"):
            sys.exit(f"bench: {command[0]} does not start")
        self.port = int(line.rsplit(":", 1)[1])

    def line(self):
        return self.process.stdout.readline()

    def order(self, what):
        print(what, file=self.process.stdin, flush=True)

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def stop(self):
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(*command):
    server = Server(*command)
    try:
        yield server
    finally:
        server.stop()


def source(events, size=200, channels=1, kind="plain", tls=None):
    """Lab/Benchmarks/C/source.c; `tls` is certificate and key."""
    return serving(BUILD / "source", events, size, channels, kind, *(tls or ()))
