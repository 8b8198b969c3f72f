import MatrixSDK

let client = MXRestClient(homeServer: homeserver)
let session = MXSession(credentials: try await client.login(username: "alice", password: password))
try session.setStore(MXFileStore())  // without it, everything is kept in memory
try await session.start()  // returns after the first sync
try await session.rooms.first?.sendTextMessage("hello")
for await event in session.events("m.room.message") {
    print(event.userId ?? "", event.json["content"]?["body"]?.string ?? "")
}
