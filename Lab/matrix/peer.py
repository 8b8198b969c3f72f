"""A Matrix client that is not ours: matrix-nio.

    peer [--url U] [--user U] [--password P] COMMAND

    create [--public] [--name N] [--invite USER]…   join ROOM            leave ROOM
    invite ROOM USER                                send ROOM TEXT       reply ROOM EVENT TEXT
    react ROOM EVENT KEY                            edit ROOM EVENT TEXT redact ROOM EVENT [REASON]
    upload ROOM FILE [MIMETYPE]                     read ROOM EVENT      typing ROOM [on|off]
    listen [--count N] [--timeout S]                script
    talk FOLDER

Each logs in, and prints one line of JSON: room_id, event_id, content_uri, or error. listen prints {"type":"ready"} after
its first sync, then every event that comes as a line: of timelines, ephemeral ones, invitations. script logs in once and
does the commands on standard input, one JSON array of words a line. talk does so with encryption, as the device whose keys
lie in FOLDER, and prints what it hears meanwhile; see encrypted.py. Exit status: 0 done; 64 wrong use; 75 timed out
before --count; 77 the homeserver refuses something; 69 it does not answer.

Without the options: $MATRIX_URL, $MATRIX_USER, $MATRIX_PASSWORD."""

import argparse
import asyncio
import json
import mimetypes
import os
import sys
from pathlib import Path

import aiohttp
import nio

import encrypted

WAIT = 30  # seconds that one command may take
DONE, USAGE, UNAVAILABLE, TIMED_OUT, REFUSED = 0, 64, 69, 75, 77


class Refused(Exception):
    """What the homeserver says."""


def tell(**members):
    print(json.dumps(members, ensure_ascii=False), flush=True)


def granted(response):
    if isinstance(response, nio.ErrorResponse):
        raise Refused(f"{response.status_code}: {response.message}")
    return response


async def send(client, room, content, kind="m.room.message"):
    # Rooms that were joined elsewhere are known after a sync only, and nothing here needs what they hold.
    return {"event_id": granted(await client.room_send(room, kind, content)).event_id}


def text(body, **more):
    return {"msgtype": "m.text", "body": body} | more


async def create(client, arguments):
    is_public = arguments.public
    response = await client.room_create(
        visibility=nio.RoomVisibility.public if is_public else nio.RoomVisibility.private, name=arguments.name,
        preset=nio.RoomPreset.public_chat if is_public else nio.RoomPreset.private_chat, invite=arguments.invite)
    return {"room_id": granted(response).room_id}


async def join(client, arguments):
    return {"room_id": granted(await client.join(arguments.room)).room_id}


async def leave(client, arguments):
    granted(await client.room_leave(arguments.room))
    return {"room_id": arguments.room}


async def invite(client, arguments):
    granted(await client.room_invite(arguments.room, arguments.invited))
    return {"room_id": arguments.room}


async def send_text(client, arguments):
    return await send(client, arguments.room, text(arguments.text))


async def reply(client, arguments):
    relation = {"m.in_reply_to": {"event_id": arguments.event}}
    return await send(client, arguments.room, text(arguments.text, **{"m.relates_to": relation}))


async def react(client, arguments):
    relation = {"rel_type": "m.annotation", "event_id": arguments.event, "key": arguments.key}
    return await send(client, arguments.room, {"m.relates_to": relation}, "m.reaction")


async def edit(client, arguments):
    relation = {"rel_type": "m.replace", "event_id": arguments.event}
    content = text(f"* {arguments.text}", **{"m.new_content": text(arguments.text), "m.relates_to": relation})
    return await send(client, arguments.room, content)


async def redact(client, arguments):
    response = await client.room_redact(arguments.room, arguments.event, reason=arguments.reason)
    return {"event_id": granted(response).event_id}


async def upload(client, arguments):
    file = Path(arguments.file)
    mimetype = arguments.mimetype or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    size = file.stat().st_size
    with file.open("rb") as data:
        response, _ = await client.upload(data, content_type=mimetype, filename=file.name, filesize=size)
    uri = granted(response).content_uri
    kind = mimetype.partition("/")[0]
    content = {"msgtype": f"m.{kind if kind in ('image', 'video', 'audio') else 'file'}", "body": file.name,
               "url": uri, "info": {"mimetype": mimetype, "size": size}}
    return {"content_uri": uri} | await send(client, arguments.room, content)


async def read(client, arguments):
    granted(await client.room_read_markers(arguments.room, arguments.event, arguments.event))
    return {"event_id": arguments.event}


async def typing(client, arguments):
    granted(await client.room_typing(arguments.room, arguments.state == "on", timeout=30_000))
    return {"room_id": arguments.room}


async def listen(client, arguments):
    """The exit status."""
    remaining = arguments.count
    has_begun = False
    done = asyncio.Event()

    def print_event(kind, room, source):
        nonlocal remaining
        if not has_begun or done.is_set():
            return
        tell(type=kind, room_id=room.room_id, event_type=source.get("type"), event_id=source.get("event_id"),
             sender=source.get("sender"), state_key=source.get("state_key"), content=source.get("content"))
        if remaining is not None:
            remaining -= 1
            if remaining <= 0:
                done.set()

    client.add_event_callback(lambda room, event: print_event("event", room, event.source), (nio.Event, nio.BadEvent))
    client.add_event_callback(lambda room, event: print_event("invite", room, event.source), nio.InviteEvent)
    client.add_ephemeral_callback(lambda room, event: ephemeral(print_event, room, event), nio.EphemeralEvent)

    async def follow():
        nonlocal has_begun
        granted(await client.sync(timeout=0))
        has_begun = True
        tell(type="ready")
        while not done.is_set():
            granted(await client.sync(timeout=30_000))

    following = asyncio.create_task(follow())
    finished = asyncio.create_task(done.wait())
    await asyncio.wait({following, finished}, timeout=arguments.timeout, return_when=asyncio.FIRST_COMPLETED)
    finished.cancel()
    if following.done() and not done.is_set():
        following.result()  # raises: it does not end by itself
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    return DONE if done.is_set() or arguments.count is None else TIMED_OUT


def ephemeral(print_event, room, event):
    if isinstance(event, nio.TypingNoticeEvent):
        print_event("ephemeral", room, {"type": "m.typing", "content": {"user_ids": event.users}})
    elif isinstance(event, nio.ReceiptEvent):
        receipts = [{"event_id": receipt.event_id, "user_id": receipt.user_id, "type": receipt.receipt_type}
                    for receipt in event.receipts]
        print_event("ephemeral", room, {"type": "m.receipt", "content": {"receipts": receipts}})


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"peer: {message}", file=sys.stderr)
        sys.exit(USAGE)


def command_parser(parser):
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name, work, *words):
        command = commands.add_parser(name)
        command.set_defaults(work=work)
        for word in words:
            command.add_argument(word)
        return command

    made = add("create", create)
    made.add_argument("--public", action="store_true")
    made.add_argument("--name")
    made.add_argument("--invite", action="append", default=[])
    add("join", join, "room")
    add("leave", leave, "room")
    add("invite", invite, "room", "invited")
    add("send", send_text, "room", "text")
    add("reply", reply, "room", "event", "text")
    add("react", react, "room", "event", "key")
    add("edit", edit, "room", "event", "text")
    add("redact", redact, "room", "event").add_argument("reason", nargs="?")
    add("upload", upload, "room", "file").add_argument("mimetype", nargs="?")
    add("read", read, "room", "event")
    add("typing", typing, "room").add_argument("state", nargs="?", choices=("on", "off"), default="on")
    return commands


def parse():
    parser = Parser(prog="peer", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("url", "user", "password"):
        value = os.environ.get(f"MATRIX_{name.upper()}")
        parser.add_argument(f"--{name}", default=value, required=value is None)
    commands = command_parser(parser)
    listening = commands.add_parser("listen")
    listening.add_argument("--count", type=int)
    listening.add_argument("--timeout", type=float)
    commands.add_parser("script")
    commands.add_parser("talk").add_argument("folder")
    return parser.parse_args()


async def answer(client, arguments):
    """Does a command, and says how it went."""
    try:
        tell(**await asyncio.wait_for(arguments.work(client, arguments), WAIT))
        return DONE
    except Refused as refusal:
        tell(error=str(refusal))
        return REFUSED
    except OSError as error:
        tell(error=str(error))
        return USAGE if isinstance(error, FileNotFoundError) else UNAVAILABLE


async def play(client):
    """Every line is done, whatever became of the one before; the status is the first that is not 0."""
    parser = Parser(prog="peer script")
    command_parser(parser)
    statuses = []
    while line := await asyncio.to_thread(sys.stdin.readline):
        statuses.append(await answer(client, parser.parse_args(json.loads(line))))
    return next(filter(None, statuses), DONE)


async def main():
    arguments = parse()
    if arguments.command == "talk":
        return await encrypted.talk(arguments.url, arguments.user, arguments.password, Path(arguments.folder))
    client = nio.AsyncClient(arguments.url, arguments.user, config=nio.AsyncClientConfig(max_timeouts=3))
    try:
        granted(await asyncio.wait_for(client.login(arguments.password, device_name="peer"), WAIT))
        if arguments.command == "listen":
            return await listen(client, arguments)
        if arguments.command == "script":
            return await play(client)
        return await answer(client, arguments)
    except Refused as refusal:
        tell(error=str(refusal))
        return REFUSED
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
        tell(error=f"the homeserver does not answer: {error}")
        return UNAVAILABLE
    finally:
        await client.close()


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main()))
    except KeyboardInterrupt:
        sys.exit(DONE)
