"""matrix-nio with encryption, as one device that goes on from run to run.

Commands come on standard input, one JSON array a line; answers and what is heard go out as JSON objects, one a line:

    ["join", ROOM]  ["create", NAME, USER…]  ["send", ROOM, TEXT]  ["upload", ROOM, FILE]  ["download", EVENT, FILE]
    ["leave", ROOM]  ["kick", ROOM, USER]  ["ban", ROOM, USER]  ["invite", ROOM, USER]  ["logout"]
    ["event", ROOM, TYPE, CONTENT]  ["redact", ROOM, EVENT]  ["block", USER, DEVICE]  ["verify", USER, DEVICE]
    ["export", FILE, PASSPHRASE]  ["import", FILE, PASSPHRASE]  ["channels"]  ["forget-channels"]  ["request", EVENT]
    ["discard", ROOM]  ["compare", USER, DEVICE]
    ["openers", FIRST, COUNT, ROOM]  ["claim", USER, DEVICE, COUNT]

    {"type":"ready"}  {"type":"done", …}  {"type":"error", "error":…}
    {"type":"heard", "room_id", "event_id", "sender", "body", "session_id"}     {"type":"unreadable", "event_id", …}
    {"type":"redacted", "event_id"}                                             {"type":"key", "session_id"}
    {"type":"compares", "emoji", "decimals"}  {"type":"verified", "device"}  {"type":"cancelled", "reason"}

channels answers with the Olm sessions that are stored; openers with the events that fresh devices of this user have sent,
each over an Olm session of its own; claim with the ids of one-time keys and of fallback keys that others' devices were given.
"""

import asyncio
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

import nio

WAIT = 60  # seconds that one command may take
events = {}


def tell(**members):
    print(json.dumps(members, ensure_ascii=False), flush=True)


def granted(response):
    if isinstance(response, nio.ErrorResponse):
        raise ValueError(f"{response.status_code}: {response.message}")
    return response


async def make_client(url, user, password, folder):
    folder.mkdir(parents=True, exist_ok=True)
    config = nio.AsyncClientConfig(encryption_enabled=True, store_sync_tokens=True, max_timeouts=3)
    client = nio.AsyncClient(url, user, store_path=str(folder), config=config)
    session = folder / "session.json"
    if session.exists():
        saved = json.loads(session.read_text())
        client.restore_login(saved["user_id"], saved["device_id"], saved["access_token"])
    else:
        answer = granted(await client.login(password, device_name="nio"))
        session.write_text(json.dumps({"user_id": answer.user_id, "device_id": answer.device_id,
                                       "access_token": answer.access_token}))
    return client


def hear(room, event):
    if isinstance(event, nio.RedactionEvent):
        tell(type="redacted", room_id=room.room_id, event_id=event.redacts)
        return
    events[event.event_id] = event
    if isinstance(event, nio.MegolmEvent):
        tell(type="unreadable", room_id=room.room_id, event_id=event.event_id, session_id=event.session_id)
        return
    source = event.source
    content = source.get("content", {})
    encrypted = event.decrypted
    tell(type="heard", room_id=room.room_id, event_id=event.event_id, sender=event.sender, body=content.get("body"),
         kind=source.get("type"), content=content, decrypted=encrypted, verified=event.verified, session_id=event.session_id)


def tell_if_verified(sas):
    if sas.verified:
        tell(type="verified", device=sas.other_olm_device.id)


async def verify(client, event):
    """Its user agrees to everything: nio has no verification requests, only what comes after them."""
    match event:
        case nio.KeyVerificationStart():
            granted(await client.accept_key_verification(event.transaction_id))
        case nio.KeyVerificationKey():
            sas = client.key_verifications[event.transaction_id]
            # Its names of them are partly older ones.
            tell(type="compares", emoji=[emoji for emoji, _ in sas.get_emoji()], decimals=sas.get_decimals())
            while client.outgoing_to_device_messages:  # its own key goes first; the sync's loop sends it
                await asyncio.sleep(0.05)
            granted(await client.confirm_short_auth_string(event.transaction_id))
            tell_if_verified(sas)
        case nio.KeyVerificationMac():
            tell_if_verified(client.key_verifications[event.transaction_id])
        case nio.KeyVerificationCancel():
            tell(type="cancelled", reason=event.reason)


async def send(client, room, content, kind="m.room.message"):
    answer = granted(await client.room_send(room, kind, content, ignore_unverified_devices=True))
    return {"event_id": answer.event_id}


async def upload(client, room, path):
    with open(path, "rb") as data:
        content = data.read()
    answer, keys = await client.upload(lambda *_: path, content_type="application/octet-stream", encrypt=True,
                                       filesize=len(content))
    while not keys:  # nio fills them in when it has sent everything, which may be after the answer
        await asyncio.sleep(0)
    file = {"url": granted(answer).content_uri, **keys}
    return await send(client, room, {"msgtype": "m.file", "body": path.rsplit("/", 1)[-1], "file": file,
                                     "info": {"size": len(content)}})


async def download(client, event_id, path):
    file = events[event_id].source["content"]["file"]
    answer = granted(await client.download(file["url"]))
    clear = nio.crypto.decrypt_attachment(answer.body, file["key"]["k"], file["hashes"]["sha256"], file["iv"])
    with open(path, "wb") as target:
        target.write(clear)
    return {}


def channels(folder):
    rows = []
    for database in folder.glob("*.db"):
        with sqlite3.connect(database) as connection:
            rows += connection.execute("SELECT session_id FROM olmsessions")
    return {"channels": " ".join(sorted(row[0] for row in rows))}


def forget_channels(folder):
    """As if the device had lost its sessions with others, when it starts again: messages over them cannot be read."""
    for database in folder.glob("*.db"):
        with sqlite3.connect(database) as connection:
            connection.execute("DELETE FROM olmsessions")
    return {}


async def open_channel(client, room, number):
    """A fresh device of the user's says something in the room, and is heard of no more."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = await make_client(client.homeserver, client.user, client.password_of_test, Path(folder))
        try:
            granted(await fresh.sync(full_state=True, timeout=0))
            granted(await fresh.keys_upload())
            if fresh.should_query_keys:
                granted(await fresh.keys_query())
            # The user's other devices are none of its business.
            for other in list(fresh.device_store.active_user_devices(client.user_id)):
                other.deleted = True
            return (await send(fresh, room, {"msgtype": "m.text", "body": f"opener {number}"}))["event_id"]
        finally:
            await fresh.close()


async def claim(client, user, device, count):
    """Takes keys of a device, as others do that want to write to it."""
    keys = {True: [], False: []}
    for _ in range(count):
        body = {"one_time_keys": {user: {device: "signed_curve25519"}}}
        answer = await client.send("POST", "/_matrix/client/v3/keys/claim", json.dumps(body), headers={
            "Authorization": f"Bearer {client.access_token}", "Content-Type": "application/json"})
        given = (await answer.json())["one_time_keys"][user][device]
        for name, key in given.items():
            keys[key.get("fallback", False)].append(name)
    return {"one_time": " ".join(keys[False]), "fallback": " ".join(keys[True])}


async def device(client, user, name):
    """One that nio knows once it has asked for the user's keys."""
    while name not in client.device_store[user]:
        await asyncio.sleep(0.05)
    return client.device_store[user][name]


async def join(client, room):
    joined = granted(await client.join(room)).room_id
    while joined not in client.rooms:  # a sync tells
        await asyncio.sleep(0.05)
    return joined


async def perform(client, folder, name, *words):
    match name:
        case "join": return {"room_id": await join(client, words[0])}
        case "leave": granted(await client.room_leave(words[0]))
        case "kick": granted(await client.room_kick(words[0], words[1]))
        case "ban": granted(await client.room_ban(words[0], words[1]))
        case "logout": granted(await client.logout())
        case "event": return await send(client, words[0], json.loads(words[2]), words[1])
        case "redact": granted(await client.room_redact(words[0], words[1]))
        case "channels": return channels(folder)
        case "discard": client.invalidate_outbound_session(words[0])
        case "compare": granted(await client.start_key_verification(await device(client, *words)))
        case "request": granted(await client.request_room_key(events[words[0]]))
        case "openers":
            numbers = range(int(words[0]), int(words[0]) + int(words[1]))
            sent = [await open_channel(client, words[2], number) for number in numbers]
            return {"events": " ".join(sent)}
        case "claim": return await claim(client, words[0], words[1], int(words[2]))
        case "invite": granted(await client.room_invite(words[0], words[1]))
        case "create":
            state = [{"type": "m.room.encryption", "state_key": "",
                      "content": {"algorithm": "m.megolm.v1.aes-sha2"}}]
            answer = granted(await client.room_create(name=words[0], invite=words[1:], initial_state=state))
            return {"room_id": answer.room_id}
        case "send": return await send(client, words[0], {"msgtype": "m.text", "body": words[1]})
        case "upload": return await upload(client, *words)
        case "download": return await download(client, *words)
        case "verify": client.verify_device(await device(client, *words))
        case "block": client.blacklist_device(await device(client, *words))
        case "export": await client.export_keys(words[0], words[1])
        case "import": await client.import_keys(words[0], words[1])
        case "forget-channels": return forget_channels(folder)
        case _: raise ValueError(f"no command {name}")
    return {}


async def talk(url, user, password, folder):
    client = await make_client(url, user, password, folder)
    client.password_of_test = password
    client.add_event_callback(hear, (nio.RoomMessage, nio.ReactionEvent, nio.RedactionEvent, nio.MegolmEvent))
    tasks = set()

    def begin_to_verify(event):
        # Beside the sync, which waits for its callbacks before it sends what is in its queue.
        task = asyncio.create_task(verify(client, event))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    client.add_to_device_callback(begin_to_verify, (nio.KeyVerificationEvent,))
    client.add_to_device_callback(lambda event: tell(type="key", session_id=event.session_id),
                                  (nio.ForwardedRoomKeyEvent,))
    following = asyncio.create_task(client.sync_forever(timeout=2_000, full_state=True))
    await client.synced.wait()
    tell(type="ready", device_id=client.device_id)
    try:
        while line := await asyncio.to_thread(sys.stdin.readline):
            name, *words = json.loads(line)
            try:
                tell(type="done", command=name, **await asyncio.wait_for(perform(client, folder, name, *words), WAIT))
            except Exception as error:  # the test that reads this says what it means
                tell(type="error", command=name, error=f"{type(error).__name__}: {error}")
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await client.close()
    return 0
