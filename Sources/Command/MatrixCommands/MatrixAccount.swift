package import CommandKit
import Foundation
package import MatrixSDK

/// The account for which commands act.
package struct MatrixAccount: Sendable {
    package let client: MXRestClient
    let userID: String
    let store: MatrixStore
    /// The homeserver, for messages.
    let serverName: String
    private let file: MatrixCredentialFile
    /// The original token: the client discards its own with the login.
    private let token: String?

    /// Creates an account for a login.
    package init(
        _ options: MXRestClientOptions, in file: MatrixCredentialFile = MatrixCredentialFile()
    ) throws(CommandFailure) {
        let credentials = try file.load()
        (self.file, token) = (file, credentials.accessToken)
        userID = credentials.userId ?? ""
        let store = MatrixStore(userID: userID, deviceID: credentials.deviceId)
        self.store = store
        serverName = credentials.homeServer.flatMap { URL(string: $0)?.serverName } ?? "the homeserver"
        client = MXRestClient(credentials: credentials, options: options)
        client.observeUnauthenticated { ending in
            // After a soft logout the device can log in again.
            guard !ending.isSoftLogout else { return }
            // A session that has the store open deletes it itself.
            try? file.remove(credentials.accessToken) { () throws(MatrixError) in try store.delete() }
        }
    }

    /// Removes everything stored about a login that has ended.
    func removeLogin() throws {
        try file.remove(token) { () throws(MatrixError) in try store.delete() }
        try ChatDrafts().remove(of: userID)
    }

    /// Creates a session without a store: see ``openStore(of:patience:)``.
    ///
    /// - Parameter beginsEncryption: Whether to create keys for a login without any. Existing keys are used in any
    ///   case: the homeserver delivers other devices' keys only once.
    func makeSession(beginsEncryption: Bool = false) -> MXSession {
        var options = MXSessionOptions()
        // Enough to find the newest message of most rooms.
        options.initialTimelineLimit = 10
        options.timelineLimit = 100
        options.reconnectPolicy = .exponential(maximumDelay: .seconds(30))
        options.callbackQueue = .queue(EventStream.queue)
        (options.enableCrypto, options.beginsEncryption) = (true, beginsEncryption)
        options.keepsKeysInMemory = false
        let session = MXSession(matrixRestClient: client, options: options)
        watchAlarms(of: session)
        return session
    }

    /// Returns the current rooms, the one with the newest message first.
    func rooms() async throws -> [MXRoomSummary] {
        try await withSession { session in session.roomsSummaries }
    }

    /// Runs `body` with an up-to-date session that does not keep syncing: the stored account plus one sync.
    ///
    /// - Parameters:
    ///   - patience: How long to wait for another process that has the store, before making a copy.
    ///   - mentionsVerification: Whether an unverified device matters to `body`.
    func withSession<Value>(
        patience: Duration = .zero, beginsEncryption: Bool = false, mentionsVerification: Bool = false,
        _ body: (MXSession) async throws -> Value
    ) async throws -> Value {
        let session = makeSession(beginsEncryption: beginsEncryption)
        defer { session.close() }
        let store = await openStore(of: session, patience: patience)
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
        do {
            let value = try await body(session)
            await session.settleEncryption()
            if mentionsVerification { mentionVerification(of: session, in: store.file) }
            return value
        } catch {
            await session.finishTelling()
            throw error
        }
    }

    /// Like `withSession`, for work that needs the keys of this login, which one process has at a time.
    func withKeys<Value>(_ body: (MXSession) async throws -> Value) async throws -> Value {
        try await withSession(patience: Self.keyPatience, beginsEncryption: true) { session in
            guard session.hasKeys else { throw keysAreInUse }
            return try await body(session)
        }
    }

    /// Like `withKeys`, for work that another process with the keys can also do: see ``KeyAgent``.
    func withRoomKeys<Value>(_ body: (any RoomKeys) async throws -> Value) async throws -> Value {
        if let agent = await keyAgent { return try await body(agent) }
        return try await withSession(
            patience: Self.keyPatience, beginsEncryption: true, mentionsVerification: true
        ) { session in
            if session.hasKeys { return try await body(SessionKeys(session: session, account: self)) }
            // Another process may have started listening in the meantime.
            guard let agent = await keyAgent else { throw keysAreInUse }
            return try await body(agent)
        }
    }

    private var keyAgent: KeyAgentClient? {
        get async { store.ownership == .free ? nil : await KeyAgentClient(of: store) }
    }

    /// Like `withKeys`, with a session that keeps syncing.
    func withRunningKeys<Value>(_ body: (MXSession) async throws -> Value) async throws -> Value {
        let session = makeSession(beginsEncryption: true)
        defer { session.close() }
        _ = await openStore(of: session, patience: Self.keyPatience)
        guard session.hasKeys else { throw keysAreInUse }
        try await session.start()
        // Failures are sent to others, too, such as a cancelled verification. A separate task, because Ctrl-C cancels
        // this one.
        func settle() async { await Task { await session.settleEncryption() }.value }
        do {
            let value = try await body(session)
            await settle()
            return value
        } catch {
            await settle()
            throw error
        }
    }

    private var keysAreInUse: CommandFailure {
        guard store.ownership != .free else {
            return CommandFailure(
                .unavailable, "this needs the keys of the login, and their store cannot be used; nothing was done",
                lacksKeys: true)
        }
        return CommandFailure(
            .unavailable,
            """
            this needs the keys of the login, which are used by \(store.ownerName), perhaps a pusher-cli matrix listen: end it, \
            then try again; nothing was done
            """, lacksKeys: true)
    }

    /// Returns whether the store or the homeserver has the room as encrypted: no server can turn encryption off.
    func isEncrypted(_ roomID: String) async throws -> Bool {
        if try store.isEncrypted(roomID) { return true }
        return try await client.isEncrypted(roomID)
    }

    /// Returns a room that the homeserver calls encrypted. No message to it is sent unencrypted, whatever syncs say.
    func encryptedRoom(_ roomID: String, in session: MXSession) async throws -> MXRoom {
        let room = try await RoomReference(roomID).room(in: session, for: self)
        if !room.summary.isEncrypted {
            // The homeserver may no longer provide the content.
            let content = try? await client.stateEvent(ofRoom: roomID, eventType: .roomEncryption)
            try session.noteEncryption(of: roomID, content)
        }
        return room
    }

    /// Returns the events of a room, decrypted as far as keys are available.
    func read(_ events: [MXEvent], in roomID: String) async throws -> [ReadEvent] {
        let isEncrypted = try events.contains(where: \.isEncrypted) || !events.isEmpty && store.isEncrypted(roomID)
        guard isEncrypted else { return events.map { ReadEvent(event: $0) } }
        do {
            return try await withRoomKeys { try await $0.read(events, in: roomID) }
        } catch let failure as CommandFailure where failure.exitStatus != .interrupted {
            StandardError.write("warning: encrypted messages cannot be read: \(failure)")
            return events.map { ReadEvent(event: $0) }
        }
    }

    /// Creates keys for a new login, so that others can share theirs for their messages from now on. The next command
    /// that needs keys retries what has failed.
    func beginEncryption() async {
        let session = makeSession(beginsEncryption: true)
        defer { session.close() }
        _ = await openStore(of: session)
        await session.beginEncryption()
    }

    /// A second listener would take keys from the first, because the homeserver sends them once.
    var isListenedTo: CommandFailure {
        CommandFailure(
            .unavailable,
            """
            \(store.ownerName) listens with this login already, and the keys of encrypted rooms can be received by one process \
            only: end it, or log in a second time with another XDG_CONFIG_HOME
            """)
    }

    /// The time to wait for another process that has the keys: most commands end soon.
    private static let keyPatience = Duration.seconds(10)

    /// Marks a room as a direct chat with a user.
    func addDirectRoom(_ roomID: String, with user: String) async throws {
        var rooms = try await client.accountData(ofType: "m.direct")?.foundation as? [String: Any] ?? [:]
        rooms[user] = (rooms[user] as? [String] ?? []) + [roomID]
        try await client.setAccountData(rooms, ofType: "m.direct")
    }
}
