"""An auth endpoint for private channels, for Hypercorn: prints which HTTP it was asked over."""

import json
import os
import urllib.parse

import pusher

signer = pusher.Pusher(app_id="1", key=os.environ["PUSHER_KEY"], secret=os.environ["PUSHER_SECRET"])


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    form = dict(urllib.parse.parse_qsl(body.decode()))
    answer = signer.authenticate(channel=form["channel_name"], socket_id=form["socket_id"])
    print("asked over HTTP", scope["http_version"], flush=True)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps(answer).encode()})
