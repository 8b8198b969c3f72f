import Foundation
import MatrixSDK

/// The account that commands act for.
struct MatrixAccount: Sendable {
    let client: MXRestClient
    let userID: String
    let store: MatrixStore
    /// The homeserver, for people.
    let serverName: String

    /// The one that is logged in.
    init(_ options: MXRestClientOptions) throws(CommandFailure) {
        let credentials = try MatrixCredentialFile().load()
        userID = credentials.userId ?? ""
        let store = MatrixStore(userID: userID, deviceID: credentials.deviceId)
        self.store = store
        serverName = credentials.homeServer.flatMap { URL(string: $0)?.serverName } ?? "the homeserver"
        client = MXRestClient(credentials: credentials, options: options)
        client.observeUnauthenticated { ending in
            // After a soft logout the device can log in again.
            guard !ending.isSoftLogout else { return }
            // A session that has the store open erases it itself.
            try? MatrixCredentialFile().remove(credentials.accessToken) { () throws(MatrixError) in try store.delete() }
        }
    }

    /// A session without a store: see ``openStore(of:patience:)``.
    func makeSession() -> MXSession {
        var options = MXSessionOptions()
        // As many as it takes to find the newest message of most rooms.
        options.initialTimelineLimit = 10
        options.timelineLimit = 100
        options.reconnectPolicy = .exponential(maximumDelay: .seconds(30))
        options.callbackQueue = .queue(EventStream.queue)
        return MXSession(matrixRestClient: client, options: options)
    }

    /// Rooms as they are now, the one with the newest message first.
    func rooms() async throws -> [MXRoomSummary] {
        try await withSession { session in session.roomsSummaries }
    }

    /// A session that is up to date, and does not go on: what is stored of the account, and one sync from there.
    func withSession<Value>(_ body: (MXSession) async throws -> Value) async throws -> Value {
        let session = makeSession()
        defer { session.close() }
        _ = await openStore(of: session)
        do {
            try await session.syncOnce()
        } catch let error as MatrixError where error.code == .store {
            session.close()
            MatrixStore.warn(error)
            let substitute = makeSession()
            defer { substitute.close() }
            try await substitute.syncOnce()
            return try await body(substitute)
        }
        return try await body(session)
    }

    /// Makes a room known as the chat with a user.
    func addDirectRoom(_ roomID: String, with user: String) async throws {
        var rooms = try await client.accountData(ofType: "m.direct")?.foundation as? [String: Any] ?? [:]
        rooms[user] = (rooms[user] as? [String] ?? []) + [roomID]
        try await client.setAccountData(rooms, ofType: "m.direct")
    }
}
