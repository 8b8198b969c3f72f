// Logs in at a Matrix homeserver, says hello in a room, and prints what is said there until somebody has answered.
//
//     swift run Matrix                                                        # with an embedded stand-in
//     MATRIX_PASSWORD=… swift run Matrix https://example.org alice '#lobby:example.org'
import MatrixSDK

struct Account {
    let homeserver: URL
    let user: String
    let password: String
    /// An alias.
    let room: String
}

struct NoSuchRoom: Error, CustomStringConvertible {
    let alias: String
    var description: String { "the account is in no room \(alias): join it first" }
}

@main
struct Matrix {
    static func main() async {
        do {
            try await talk(as: try account())
        } catch {
            FileHandle.standardError.write(Data("Matrix: \(error)\n".utf8))
            exit(1)
        }
    }

    static func account() throws -> Account {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 3, let url = URL(string: arguments[0]) else { return try startHomeserver() }
        let password = ProcessInfo.processInfo.environment["MATRIX_PASSWORD"] ?? ""
        return Account(homeserver: url, user: arguments[1], password: password, room: arguments[2])
    }

    static func talk(as account: Account) async throws {
        let client = MXRestClient(homeServer: account.homeserver)
        try await client.login(username: account.user, password: account.password)

        let session = MXSession(matrixRestClient: client)
        defer { session.close() }
        try await session.start()  // returns after the first sync
        print(
            "logged in as \(session.myUserId ?? "-"), rooms:", session.rooms.map(\.displayName).joined(separator: ", "))

        guard let room = session.room(withAlias: account.room) else { throw NoSuchRoom(alias: account.room) }
        let messages = session.events("m.room.message", in: room.roomId)  // from now on
        try await room.sendTextMessage("hello from Swift")
        for await message in messages {
            print("\(message.userId ?? "-"):", message.json["content"]?["body"]?.string ?? "")
            if message.userId != session.myUserId { break }
        }
        try await session.logout()
    }
}
