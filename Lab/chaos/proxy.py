"""An HTTP CONNECT proxy that can be slow:  proxy.py ADDRESS PORT. A number on standard input is the delay of all later
bytes, in seconds, each way."""

import asyncio
import sys

delay = 0.0


async def pump(reader, writer):
    """Passes bytes on, each piece `delay` after it came; later pieces do not overtake earlier ones."""
    pieces = asyncio.Queue()
    loop = asyncio.get_running_loop()

    async def deliver():
        while True:
            due, data = await pieces.get()
            await asyncio.sleep(max(0, due - loop.time()))
            if not data:
                return writer.close()
            writer.write(data)

    delivery = asyncio.create_task(deliver())
    try:
        while data := await reader.read(65536):
            pieces.put_nowait((loop.time() + delay, data))
    except ConnectionError:
        pass
    pieces.put_nowait((loop.time() + delay, b""))
    await delivery


async def serve(reader, writer):
    try:
        request = await reader.readuntil(b"\r\n\r\n")
        host, port = request.split()[1].decode().rsplit(":", 1)
        upstream_reader, upstream_writer = await asyncio.open_connection(host, int(port))
    except (OSError, asyncio.IncompleteReadError):
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        return writer.close()
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await asyncio.gather(pump(reader, upstream_writer), pump(upstream_reader, writer))


def read_delay():
    global delay
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    delay = float(line)


async def main():
    asyncio.get_running_loop().add_reader(sys.stdin, read_delay)
    server = await asyncio.start_server(serve, sys.argv[1], int(sys.argv[2]))
    print("listening", flush=True)
    await server.serve_forever()


asyncio.run(main())
