import Basics
import CurlTransport
import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

/// Somebody with a session of ours that encrypts, and what that has told.
final class EncryptedUser: Sendable {
    let user: Homeserver.User
    private let folder: URL
    private let credentials: MXCredentials
    private let current = Lock<MXSession?>(nil)
    private let heard = Lock<[MXEvent]>([])

    /// A new user, or another device of one.
    init(_ name: String, on homeserver: Homeserver, as user: Homeserver.User? = nil) async throws {
        self.user = if let user { user } else { try await homeserver.newUser(name) }
        folder = FileManager.default.temporaryDirectory.appending(path: "encrypted-\(UUID().uuidString)")
        let client = MXRestClient(homeServer: try #require(URL(string: homeserver.url)), options: .direct)
        credentials = try await client.login(username: self.user.name, password: self.user.password)
        try await start()
    }

    deinit {
        current.withLock { $0 }?.close()
        try? FileManager.default.removeItem(at: folder)
    }

    var session: MXSession {
        get throws { try #require(current.withLock { $0 }) }
    }

    func start() async throws {
        var options = MXSessionOptions()
        options.enableCrypto = true
        options.pollTimeout = .seconds(2)
        let session = MXSession(
            matrixRestClient: MXRestClient(credentials: credentials, options: .direct), options: options)
        try session.setStore(MXFileStore(folder: folder))
        _ = session.listenToEvents { [heard] event, _, _ in heard.withLock { $0.append(event) } }
        current.withLock { $0 = session }
        try await session.start()
    }

    /// As a new run of the program begins.
    func restart() async throws {
        try session.close()
        try await start()
    }

    func room(_ roomId: String) async throws -> MXRoom {
        let session = try session
        #expect(await eventually { session.room(withRoomId: roomId)?.summary.membership == .join })
        return try #require(session.room(withRoomId: roomId))
    }

    func join(_ roomId: String) async throws -> MXRoom {
        _ = try await session.matrixRestClient.joinRoom(roomId)
        return try await room(roomId)
    }

    /// A room that is encrypted from the start.
    func makeRoom(inviting users: String...) async throws -> MXRoom {
        let parameters = MXRoomCreationParameters()
        parameters.inviteArray = users
        parameters.isEncrypted = true
        let roomId = try await session.matrixRestClient.createRoom(parameters: parameters)
        let room = try await room(roomId)
        #expect(await eventually { room.summary.isEncrypted })
        return room
    }

    /// The event that was heard, as it is known now.
    func event(_ id: String) -> MXEvent? { heard.withLock { heard in heard.last { $0.eventId == id } } }

    /// Whether the message comes, and says this.
    func hears(_ id: String, _ text: String) async -> Bool {
        await eventually { self.event(id)?.contentJSON["body"]?.string == text }
    }
}

/// matrix-nio as the other end: see Scripts/matrix/encrypted.py.
final class EncryptedPeer: Sendable {
    let user: Homeserver.User
    private let homeserver: Homeserver
    private let folder: URL
    private let program: Lock<Program>

    init(_ name: String, on homeserver: Homeserver, as user: Homeserver.User? = nil) async throws {
        self.homeserver = homeserver
        self.user = if let user { user } else { try await homeserver.newUser(name) }
        folder = FileManager.default.temporaryDirectory.appending(path: "nio-\(UUID().uuidString)")
        program = Lock(homeserver.peer(self.user, "talk", folder.path))
        try await start()
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func start() async throws {
        let program = program.withLock { $0 }
        try program.start(takesInput: true)
        try #require(await program.waitFor { $0["type"] as? String == "ready" }, "nio does not start")
    }

    func restart() async throws {
        let old = program.withLock { $0 }
        try old.endInput()
        _ = try await old.end()
        program.withLock { $0 = homeserver.peer(user, "talk", folder.path) }
        try await start()
    }

    /// Does a command.
    @discardableResult
    func perform(_ command: String...) async throws -> [String: String] {
        let program = program.withLock { $0 }
        let before = Self.answers(program).count
        try program.write(command)
        try #require(await eventually { Self.answers(program).count > before }, "nio does not answer")
        let answer = Self.answers(program)[before]
        let error = answer["error"] as? String
        try #require(error == nil, "nio: \(error ?? "")")
        return answer.compactMapValues { $0 as? String }
    }

    private static func answers(_ program: Program) -> [[String: Any]] {
        program.output.compactMap { Self.object($0) }.filter { ["done", "error"].contains($0["type"] as? String) }
    }

    private static func object(_ line: String) -> [String: Any]? {
        try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
    }

    /// Sends a message.
    ///
    /// - Returns: Its id.
    func send(_ text: String, to roomId: String) async throws -> String {
        try #require(try await perform("send", roomId, text)["event_id"])
    }

    /// Whether the message comes, was encrypted, and says this.
    func hears(_ id: String, _ text: String) async -> Bool {
        let program = program.withLock { $0 }
        return await program.waitFor {
            $0["event_id"] as? String == id && $0["body"] as? String == text && $0["decrypted"] as? Bool == true
        }
    }

    /// Whether the message comes, and could be decrypted.
    func reads(_ id: String) async -> Bool {
        let program = program.withLock { $0 }
        return await program.waitFor { $0["event_id"] as? String == id && $0["decrypted"] as? Bool == true }
    }

    /// Whether the message comes, and cannot be read.
    func failsToRead(_ id: String) async -> Bool {
        let program = program.withLock { $0 }
        return await program.waitFor { $0["event_id"] as? String == id && $0["type"] as? String == "unreadable" }
    }
}
