import PusherMockServer

let server = try await PusherMockServer.start()  // on server.host and server.port, with the key app-key
await server.failHandshakes(.overCapacity, next: 1)
await server.publish(event: "greeting", channel: "my-channel", data: "hello")
await server.stop()
