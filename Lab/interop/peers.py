"""Clients and a server library that other people wrote independently, each with its default options.

`check`, `Serve` and the others come from interop.py, which calls `run`."""

import asyncio
import json
import urllib.parse
import urllib.request

import asyncpusher
import sockudo_http_python
import sockudo_python

CHANNELS = ("public", "private-x", "presence-room")


def ask(url, form):
    with urllib.request.urlopen(url, urllib.parse.urlencode(form).encode()) as answer:
        return json.load(answer)


async def until(condition, seconds):
    """Whether it came true."""
    for _ in range(seconds * 50):
        if condition():
            return True
        await asyncio.sleep(0.02)
    return False


async def next_record(process, kind):
    """The next JSON line of this type that a command prints."""
    while line := await asyncio.to_thread(process.stdout.readline):
        if (record := json.loads(line))["type"] == kind:
            return record
    return None


async def with_asyncpusher(server, api, interop):
    """A client on aiohttp, which leaves signing to us."""
    received = []

    async def authorize(form):
        url = f"http://127.0.0.1:{server.port}/pusher/auth"
        return await asyncio.to_thread(ask, url, {**form, "user_id": "py"})

    client = asyncpusher.Pusher(
        interop.KEY, custom_host="127.0.0.1", custom_port=server.port, secure=False, channel_authenticator=authorize,
        auto_sub=True)
    await asyncio.wait_for(client.connect(), interop.WAIT)
    for name in CHANNELS:
        channel = await client.subscribe(name)
        for event in ("greeting", "client-hello"):
            async def take(data, name=name, event=event):
                received.append((name, event, data))
            channel.bind(event, take)
    subscribed = await until(
        lambda: all(channel.state is asyncpusher.Channel.State.SUBSCRIBED for channel in client.channels.values()),
        interop.WAIT)
    interop.check("asyncpusher subscribes to public, private and presence channels", subscribed)
    interop.check("it is a member", api.users_info("presence-room") == {"users": [{"id": "py"}]})
    for name in CHANNELS:
        await asyncio.to_thread(api.trigger, name, "greeting", {"to": name})
    await until(lambda: len(received) == 3, interop.WAIT)
    interop.check("it receives in order what the official library publishes",
                  received == [(name, "greeting", {"to": name}) for name in CHANNELS], str(received))

    command = interop.subscribe_command("listen", "presence-room", "--json", "--user-id", "swift")
    await next_record(command, "subscribed")
    await client.channels["presence-room"].trigger({"event": "client-hello", "data": {"from": "py"}})
    event = await next_record(command, "event")
    interop.check("our command receives its client event, with the user's id", event is not None and (
        event["event"], json.loads(event["data"]), event["user_id"]) == ("client-hello", {"from": "py"}, "py"),
        str(event))
    command.terminate()
    command.wait(interop.WAIT)
    done = await asyncio.to_thread(interop.run_command, "client-event", "private-x", "client-hello", '{"n":1}')
    await until(lambda: len(received) == 4, interop.WAIT)
    interop.check("it receives our command's client event",
                  done.returncode == 0 and received[3:] == [("private-x", "client-hello", {"n": 1})], str(received))
    await client.disconnect()


async def with_sockudo(server, api, interop):
    """Sockudo's client, in Pusher's protocol. It knows encrypted channels and users."""
    received = []
    base = f"http://127.0.0.1:{server.port}/pusher"
    client = sockudo_python.SockudoClient(interop.KEY, sockudo_python.SockudoOptions(
        cluster="mt1", protocol_version=1, ws_host="127.0.0.1", ws_port=server.port, force_tls=False,
        channel_authorization=sockudo_python.ChannelAuthorizationOptions(f"{base}/auth", params={"user_id": "so"}),
        user_authentication=sockudo_python.UserAuthenticationOptions(f"{base}/user-auth", params={"user_id": "so"})))
    await client.connect()
    connected = await until(
        lambda: client.connection_state is sockudo_python.ConnectionState.CONNECTED, interop.WAIT)
    interop.check("Sockudo's client connects", connected)
    names = (*CHANNELS, "private-encrypted-x")
    channels = {name: client.subscribe(name) for name in names}
    for name, channel in channels.items():
        for event in ("greeting", "client-hello"):
            channel.bind(event, lambda data, metadata, name=name, event=event: received.append((name, event, data)))
    interop.check("it subscribes to every kind of channel", await until(
        lambda: all(channel.is_subscribed for channel in channels.values()), interop.WAIT))
    for name in names:
        await asyncio.to_thread(api.trigger, name, "greeting", {"to": name, "snow": "☃"})
    await until(lambda: len(received) == 4, interop.WAIT)
    interop.check("it receives in order, and decrypts, what the official library publishes",
                  received == [(name, "greeting", {"to": name, "snow": "☃"}) for name in names], str(received))

    command = interop.subscribe_command("listen", "presence-room", "--json", "--user-id", "swift")
    subscribed = await next_record(command, "subscribed")
    members = channels["presence-room"].members
    interop.check("our command and it see each other on the presence channel",
                  subscribed["members"] == 2 and await until(lambda: members.member("swift") is not None, interop.WAIT))
    await channels["presence-room"].trigger("client-hello", {"from": "so"})
    event = await next_record(command, "event")
    interop.check("our command receives its client event", event is not None and (
        event["event"], json.loads(event["data"]), event["user_id"]) == ("client-hello", {"from": "so"}, "so"),
        str(event))
    command.terminate()
    command.wait(interop.WAIT)
    interop.check("it sees our command leave", await until(lambda: members.member("swift") is None, interop.WAIT))

    await client.signin()
    # Version 2.2.0 hands on nothing of what is sent to its user.
    interop.check("it signs in", await until(lambda: client.user.user_id == "so", interop.WAIT))
    await client.disconnect()


def sockudo_library(server, interop):
    """Sockudo's server library. Our port is its default too."""
    check = interop.check
    credentials = (interop.APP_ID, interop.KEY, interop.SECRET, interop.MASTER_KEY)
    api = sockudo_http_python.Sockudo(
        *credentials, options=sockudo_http_python.SockudoOptions(port=server.port))
    by_url = sockudo_http_python.Sockudo.from_url(server.url)
    process = interop.subscribe_command(
        "subscribe", "public", "presence-room", "private-encrypted-x", "--json", "--count", "6", "--user-id", "swift")
    for name in ("public", "presence-room", "private-encrypted-x"):
        deadline = interop.WAIT * 50
        while name not in api.list_channels().json()["channels"] and deadline:
            deadline -= 1
            interop.pause()
    check("Sockudo's library lists channels and members", (
        api.list_channels(sockudo_http_python.ChannelsParams("presence-", "user_count")).json(),
        api.get_channel("presence-room").json()["occupied"], api.get_channel_users("presence-room").json())
        == ({"channels": {"presence-room": {"user_count": 1}}}, True, {"users": [{"id": "swift"}]}))
    answers = [
        api.trigger("public", "greeting", {"n": 1}), api.trigger(["public", "presence-room"], "greeting", "two"),
        api.trigger("private-encrypted-x", "greeting", {"snow": "☃"}),
        by_url.trigger_batch([sockudo_http_python.Event("public", "greeting", "batch")]),
        by_url.trigger("public", "greeting", "by PUSHER_URL")]
    check("it publishes, with the URL that serve prints, too", all(answer.ok for answer in answers), str(answers))
    out, err = process.communicate(timeout=interop.WAIT)
    lines = [(line["channel"], line["data"]) for line in map(json.loads, out.splitlines())]
    check("our command receives all of it, decrypted", process.returncode == 0 and lines == [
        ("public", '{"n":1}'), ("public", "two"), ("presence-room", "two"),
        ("private-encrypted-x", '{"snow":"\\u2603"}'), ("public", "batch"), ("public", "by PUSHER_URL")], out + err)
    wrong = sockudo_http_python.Sockudo(
        interop.APP_ID, interop.KEY, "wrong", options=sockudo_http_python.SockudoOptions(port=server.port))
    check("a wrong secret is refused", wrong.trigger("public", "e", "x").status_code == 401)
    for name in ("private-x", "private-encrypted-x"):
        done = interop.run_command("auth", name, "1.2")
        check(f"auth for {name} is what it gives",
              done.returncode == 0 and json.loads(done.stdout) == json.loads(api.authenticate("1.2", name)),
              done.stdout)


def run(interop):
    with interop.Serve() as server:
        api = interop.official(server.port)
        asyncio.run(with_asyncpusher(server, api, interop))
        asyncio.run(with_sockudo(server, api, interop))
        sockudo_library(server, interop)
