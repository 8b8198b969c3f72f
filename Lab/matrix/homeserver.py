"""Runs Synapse for tests, on a free port of the loopback interface, with its data in a folder.

    homeserver new [FOLDER] [--set KEY=VALUE]…    makes a folder and starts on it
    homeserver start FOLDER                       starts again: the same data, the same port
    homeserver stop FOLDER                        ends it politely
    homeserver kill FOLDER                        ends it with SIGKILL
    homeserver register FOLDER USER PASSWORD      adds a user, with the shared secret
    homeserver remove FOLDER                      ends it, and deletes the folder

new and start return when it answers, 30 seconds later at most, and print one line of JSON: url, folder, pid, secret.
VALUE is YAML, KEY one of the configuration's, such as refreshable_access_token_lifetime=15s; profiles of the tests
are in PROFILES: --profile NAME."""

import argparse
import hashlib
import hmac
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
START_SECONDS, STOP_SECONDS = 30, 10

UNLIMITED = {"per_second": 10_000, "burst_count": 10_000}
PROFILES = {
    "plain": {},
    # The one that tests may kill.
    "mortal": {},
    # A refresh comes in the middle of everything.
    "short_tokens": {"refreshable_access_token_lifetime": "15s", "nonrefreshable_access_token_lifetime": "4s"},
    "limited": {"rc_message": {"per_second": 1, "burst_count": 3}},
}


class Failure(Exception):
    """What happened, to be told without a traceback."""


def configuration(port, secret):
    per_user = {"per_user": UNLIMITED}
    return {
        "server_name": "hs.test",
        "public_baseurl": f"http://127.0.0.1:{port}/",
        "pid_file": "daemon.pid",
        "report_stats": False,
        "suppress_key_server_warning": True,
        "listeners": [{"port": port, "bind_addresses": ["127.0.0.1"], "type": "http", "tls": False,
                       "resources": [{"names": ["client"], "compress": False}]}],
        "database": {"name": "sqlite3", "args": {"database": "homeserver.db"}},
        "log_config": "log.json",
        "media_store_path": "media_store",
        "signing_key_path": "signing.key",
        "trusted_key_servers": [],
        "federation_domain_whitelist": [],
        "macaroon_secret_key": secrets.token_hex(16),
        "form_secret": secrets.token_hex(16),
        "registration_shared_secret": secret,
        "enable_registration": True,
        "enable_registration_without_verification": True,
        "bcrypt_rounds": 4,
        "allow_public_rooms_without_auth": True,
        "room_list_publication_rules": [{"action": "allow"}],
        "login_via_existing_session": {"enabled": True, "require_ui_auth": False},
        "ip_range_whitelist": ["127.0.0.1"],  # pushers may reach a gateway of the tests
        "caches": {"sync_response_cache_duration": "0s"},
        "session_lifetime": "24h",
        "refreshable_access_token_lifetime": "24h",
        "refresh_token_lifetime": "24h",
        "nonrefreshable_access_token_lifetime": "24h",
        "rc_message": UNLIMITED,
        "rc_registration": UNLIMITED,
        "rc_admin_redaction": UNLIMITED,
        "rc_login": {"address": UNLIMITED, "account": UNLIMITED, "failed_attempts": UNLIMITED},
        "rc_joins": {"local": UNLIMITED, "remote": UNLIMITED},
        "rc_joins_per_room": UNLIMITED,
        "rc_room_creation": UNLIMITED,
        "rc_media_create": UNLIMITED,
        "rc_user_directory": UNLIMITED,
        "rc_presence": per_user,
        "rc_invites": {"per_room": UNLIMITED, "per_user": UNLIMITED, "per_issuer": UNLIMITED},
    }


LOGGING = {
    "version": 1,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"level": "WARNING", "handlers": ["console"]},
    "disable_existing_loggers": False,
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Homeserver:
    """One folder, and the process that runs on it, if there is one."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.process = None
        try:
            self.configuration = json.loads((self.folder / "homeserver.yaml").read_text())
        except (OSError, ValueError) as error:
            raise Failure(f"{self.folder} is no homeserver's folder: {error}") from error

    @classmethod
    def new(cls, folder=None, overrides=None):
        if folder is None:
            (ROOT / ".build/matrix").mkdir(parents=True, exist_ok=True)
            folder = tempfile.mkdtemp(prefix="homeserver-", dir=ROOT / ".build/matrix")
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Failure(f"{folder} is not empty: use start for a homeserver that is there")
        # YAML takes JSON as it is.
        (folder / "homeserver.yaml").write_text(
            json.dumps(configuration(free_port(), secrets.token_hex(16)) | (overrides or {}), indent=2))
        (folder / "log.json").write_text(json.dumps(LOGGING))
        server = cls(folder)
        try:
            keys = subprocess.run(server.command("--generate-keys"), cwd=folder, capture_output=True, text=True,
                                  timeout=START_SECONDS)
            if keys.returncode != 0:
                raise Failure(f"Synapse refuses its configuration: {keys.stderr.strip()}")
            server.start()
        except BaseException:
            server.remove()
            raise
        return server

    def command(self, *arguments):
        return [sys.executable, "-m", "synapse.app.homeserver", "-c", str(self.folder / "homeserver.yaml"), *arguments]

    @property
    def port(self):
        return self.configuration["listeners"][0]["port"]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def secret(self):
        return self.configuration["registration_shared_secret"]

    @property
    def pid(self):
        """Of its process; None if it does not run."""
        try:
            pid = int((self.folder / "server.pid").read_text())
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if str(self.folder / "homeserver.yaml").encode() in words else None  # else the number is another's

    def start(self):
        if self.pid:
            raise Failure(f"the homeserver in {self.folder} runs already")
        with open(self.folder / "homeserver.log", "ab") as log:
            # A session of its own: Ctrl-C is for those who started it, and they stop it.
            self.process = subprocess.Popen(self.command(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True)
        (self.folder / "server.pid").write_text(str(self.process.pid))
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self.process.poll() is not None:
                raise Failure(f"Synapse has ended:\n{self.log_end()}")
            if time.monotonic() > deadline:
                self.kill()
                raise Failure(f"Synapse does not answer within {START_SECONDS} s:\n{self.log_end()}")
            time.sleep(0.05)

    def answers(self):
        try:
            return urllib.request.urlopen(f"{self.url}/health", timeout=1).status == 200
        except OSError:
            return False

    def log_end(self):
        return "\n".join((self.folder / "homeserver.log").read_text(errors="replace").splitlines()[-20:])

    def stop(self):
        self.end(signal.SIGTERM)

    def kill(self):
        self.end(signal.SIGKILL)

    def end(self, number):
        deadline = time.monotonic() + STOP_SECONDS
        while pid := self.pid:
            try:
                os.kill(pid, number if time.monotonic() < deadline else signal.SIGKILL)
            except ProcessLookupError:
                break
            self.wait_for_end(STOP_SECONDS)
        if self.process:
            self.process.wait()
        (self.folder / "server.pid").unlink(missing_ok=True)

    def wait_for_end(self, seconds):
        deadline = time.monotonic() + seconds
        while self.pid and time.monotonic() < deadline:
            time.sleep(0.02)

    def remove(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def register(self, user, password, admin=False):
        """Returns what a login gives."""
        nonce = self.request("/_synapse/admin/v1/register")["nonce"]
        words = nonce, user, password, "admin" if admin else "notadmin"
        mac = hmac.new(self.secret.encode(), "\0".join(words).encode(), hashlib.sha1).hexdigest()
        return self.request("/_synapse/admin/v1/register", {
            "nonce": nonce, "username": user, "password": password, "admin": admin, "mac": mac})

    def request(self, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data), timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Failure(f"the homeserver refuses {path}: {error.read().decode(errors='replace')}") from error
        except OSError as error:
            raise Failure(f"the homeserver does not answer {path}: {error}") from error

    def description(self):
        return {"url": self.url, "folder": str(self.folder), "pid": self.pid, "secret": self.secret}


def setting(text):
    import yaml  # comes with Synapse
    key, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{text} is not KEY=VALUE")
    return key, yaml.safe_load(value)


def parse():
    parser = argparse.ArgumentParser(prog="homeserver", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("new")
    new.add_argument("folder", nargs="?")
    new.add_argument("--profile", choices=PROFILES, default="plain")
    new.add_argument("--set", type=setting, action="append", default=[])
    for name in ("start", "stop", "kill", "remove"):
        commands.add_parser(name).add_argument("folder")
    register = commands.add_parser("register")
    register.add_argument("folder")
    register.add_argument("user")
    register.add_argument("password")
    register.add_argument("--admin", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.command == "new":
        server = Homeserver.new(arguments.folder, PROFILES[arguments.profile] | dict(arguments.set))
        print(json.dumps(server.description()), flush=True)
        return
    server = Homeserver(arguments.folder)
    if arguments.command == "register":
        print(json.dumps({"user_id": server.register(arguments.user, arguments.password, arguments.admin)["user_id"]}))
    else:
        getattr(server, arguments.command)()
        if arguments.command == "start":
            print(json.dumps(server.description()), flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"homeserver: {failure}")
