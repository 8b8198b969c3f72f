import Foundation
import MatrixSDK

/// The account that commands act for.
struct MatrixAccount: Sendable {
    let client: MXRestClient
    let userID: String
    /// The homeserver, for people.
    let serverName: String

    /// The one that is logged in.
    init(_ options: MXRestClientOptions) throws(CommandFailure) {
        let credentials = try MatrixCredentialFile().load()
        userID = credentials.userId ?? ""
        serverName = credentials.homeServer.flatMap { URL(string: $0)?.host } ?? "the homeserver"
        client = MXRestClient(credentials: credentials, options: options)
    }

    /// A session that is not stored: any number of commands can have one at a time.
    func session(firstMessages: Int) -> MXSession {
        var options = MXSessionOptions()
        options.initialTimelineLimit = firstMessages
        options.timelineLimit = 100
        options.reconnectPolicy = .exponential(maximumDelay: .seconds(30))
        options.callbackQueue = .queue(EventStream.queue)
        return MXSession(matrixRestClient: client, options: options)
    }

    /// Rooms as they are now, the one with the newest message first.
    func rooms() async throws -> [MXRoomSummary] {
        let session = session(firstMessages: 10)
        defer { session.close() }
        try await session.start()
        return session.roomsSummaries
    }

    /// Makes a room known as the chat with a user.
    func addDirectRoom(_ roomID: String, with user: String) async throws {
        var rooms = try await client.accountData(ofType: "m.direct")?.foundation as? [String: Any] ?? [:]
        rooms[user] = (rooms[user] as? [String] ?? []) + [roomID]
        try await client.setAccountData(rooms, ofType: "m.direct")
    }
}
