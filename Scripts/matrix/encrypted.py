"""matrix-nio with encryption, as one device that goes on from run to run.

Commands come on standard input, one JSON array a line; answers and what is heard go out as JSON objects, one a line:

    ["join", ROOM]  ["create", NAME, USER…]  ["send", ROOM, TEXT]  ["upload", ROOM, FILE]  ["download", EVENT, FILE]
    ["leave", ROOM]  ["kick", ROOM, USER]  ["invite", ROOM, USER]  ["devices", USER]  ["block", USER, DEVICE]
    ["verify", USER, DEVICE]  ["export", FILE, PASSPHRASE]  ["import", FILE, PASSPHRASE]  ["forget-channels"]

    {"type":"ready"}  {"type":"done", …}  {"type":"error", "error":…}
    {"type":"heard", "room_id", "event_id", "sender", "body", "session_id"}     {"type":"unreadable", "event_id", …}
"""

import asyncio
import json
import sqlite3
import sys

import nio

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
    events[event.event_id] = event
    if isinstance(event, nio.MegolmEvent):
        tell(type="unreadable", room_id=room.room_id, event_id=event.event_id, session_id=event.session_id)
        return
    source = event.source
    content = source.get("content", {})
    encrypted = event.decrypted
    tell(type="heard", room_id=room.room_id, event_id=event.event_id, sender=event.sender, body=content.get("body"),
         content=content, decrypted=encrypted, verified=event.verified, session_id=event.session_id)


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


def forget_channels(folder):
    """As if the device had lost its sessions with others: the next messages to it cannot be read."""
    for database in folder.glob("*.db"):
        with sqlite3.connect(database) as connection:
            connection.execute("DELETE FROM olmsessions")
    return {}


async def perform(client, folder, name, *words):
    match name:
        case "join": return {"room_id": granted(await client.join(words[0])).room_id}
        case "leave": granted(await client.room_leave(words[0]))
        case "kick": granted(await client.room_kick(words[0], words[1]))
        case "invite": granted(await client.room_invite(words[0], words[1]))
        case "create":
            state = [{"type": "m.room.encryption", "state_key": "",
                      "content": {"algorithm": "m.megolm.v1.aes-sha2"}}]
            answer = granted(await client.room_create(name=words[0], invite=words[1:], initial_state=state))
            return {"room_id": answer.room_id}
        case "send": return await send(client, words[0], {"msgtype": "m.text", "body": words[1]})
        case "upload": return await upload(client, *words)
        case "download": return await download(client, *words)
        case "devices":
            return {"devices": [device.id for device in client.device_store.active_user_devices(words[0])]}
        case "verify": client.verify_device(client.device_store[words[0]][words[1]])
        case "block": client.blacklist_device(client.device_store[words[0]][words[1]])
        case "export": await client.export_keys(words[0], words[1])
        case "import": await client.import_keys(words[0], words[1])
        case "forget-channels": return forget_channels(folder)
        case _: raise ValueError(f"no command {name}")
    return {}


async def talk(url, user, password, folder):
    client = await make_client(url, user, password, folder)
    client.add_event_callback(hear, (nio.RoomMessage, nio.MegolmEvent))
    following = asyncio.create_task(client.sync_forever(timeout=2_000, full_state=True))
    await client.synced.wait()
    tell(type="ready", device_id=client.device_id)
    try:
        while line := await asyncio.to_thread(sys.stdin.readline):
            name, *words = json.loads(line)
            try:
                tell(type="done", command=name, **await asyncio.wait_for(perform(client, folder, name, *words), 30))
            except Exception as error:  # the test that reads this says what it means
                tell(type="error", command=name, error=f"{type(error).__name__}: {error}")
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await client.close()
    return 0
