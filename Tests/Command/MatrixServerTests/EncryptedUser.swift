import Basics
import CurlTransport
import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

/// A user with an encrypting session of ours, and a record of its reports.
final class EncryptedUser: Sendable {
    let user: Homeserver.User
    let log = LogLines()
    private let folder: URL
    private let credentials: MXCredentials
    private let current = Lock<MXSession?>(nil)
    private let heard = Lock<[MXEvent]>([])

    /// Creates a user, or another device of an existing one.
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
        options.logger = log.logger
        options.pollTimeout = .seconds(2)
        let session = MXSession(
            matrixRestClient: MXRestClient(credentials: credentials, options: .direct), options: options)
        try session.setStore(MXFileStore(folder: folder))
        _ = session.listenToEvents { [heard] event, _, _ in heard.withLock { $0.append(event) } }
        current.withLock { $0 = session }
        try await session.start()
    }

    func stop() throws { try session.close() }

    /// Restarts like a new run of the program.
    func restart() async throws {
        try stop()
        try await start()
    }

    var deviceId: String { get throws { try #require(credentials.deviceId) } }

    func room(_ roomId: String) async throws -> MXRoom {
        let session = try session
        #expect(await eventually { session.room(withRoomId: roomId)?.summary.membership == .join })
        return try #require(session.room(withRoomId: roomId))
    }

    func join(_ roomId: String) async throws -> MXRoom {
        _ = try await session.matrixRestClient.joinRoom(roomId)
        return try await room(roomId)
    }

    /// Creates a room that is encrypted from the start.
    func makeRoom(inviting users: String...) async throws -> MXRoom {
        let parameters = MXRoomCreationParameters()
        parameters.inviteArray = users
        parameters.isEncrypted = true
        let roomId = try await session.matrixRestClient.createRoom(parameters: parameters)
        let room = try await room(roomId)
        #expect(await eventually { room.summary.isEncrypted })
        return room
    }

    /// Returns the current state of a received event.
    func event(_ id: String) -> MXEvent? { heard.withLock { heard in heard.last { $0.eventId == id } } }

    /// Waits for a message with this text.
    func hears(_ id: String, _ text: String) async -> Bool {
        await eventually { self.event(id)?.contentJSON["body"]?.string == text }
    }

    /// Waits for a message that cannot be decrypted for this reason.
    func hears(_ id: String, _ error: MXDecryptionError) async -> Bool {
        await eventually { self.event(id)?.decryptionError == error }
    }

    /// Returns the Megolm session of a message.
    ///
    /// - Throws: If the message does not arrive, or is not encrypted.
    func megolmSession(of id: String) async throws -> String {
        _ = await eventually { self.event(id) != nil }
        return try #require(event(id)?.wireContent["session_id"]?.string)
    }

    /// Sets this user's verification of a device.
    func set(_ verification: MXDeviceVerification, _ device: String, of user: Homeserver.User) async throws {
        let crypto = try #require(try session.crypto)
        try await crypto.downloadKeys([user.id], forceDownload: true)
        try crypto.setDeviceVerification(verification, forDevice: device, ofUser: user.id)
    }
}

extension MXEvent {
    /// The session and index of a Megolm message.
    var megolmPlace: String? {
        guard let session = wireContent["session_id"]?.string, var text = wireContent["ciphertext"]?.string
        else { return nil }
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let bytes = Data(base64Encoded: text), bytes.count > 3, bytes[0] == 3, bytes[1] == 8 else { return nil }
        var (index, shift) = (0, 0)
        for byte in bytes[2...].prefix(5) {
            index |= Int(byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 { break }
        }
        return "\(session) \(index)"
    }
}

/// matrix-nio as the other side: see Lab/matrix/encrypted.py.
final class EncryptedPeer: Sendable {
    let user: Homeserver.User
    private let homeserver: Homeserver
    private let kind: Homeserver.Peer
    private let folder: URL
    private let program: Lock<Program>

    init(
        _ name: String, on homeserver: Homeserver, as user: Homeserver.User? = nil,
        kind: Homeserver.Peer = .current
    ) async throws {
        (self.homeserver, self.kind) = (homeserver, kind)
        self.user = if let user { user } else { try await homeserver.newUser(name) }
        folder = FileManager.default.temporaryDirectory.appending(path: "nio-\(UUID().uuidString)")
        program = Lock(homeserver.peer(self.user, kind: kind, "talk", folder.path))
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

    func stop() async throws {
        let old = program.withLock { $0 }
        try old.endInput()
        _ = try await old.end()
    }

    func restart() async throws {
        try await stop()
        program.withLock { $0 = homeserver.peer(user, kind: kind, "talk", folder.path) }
        try await start()
    }

    /// Performs a command.
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

    var deviceId: String {
        get throws {
            let lines = program.withLock { $0 }.output.compactMap { Self.object($0) }
            return try #require(lines.first { $0["type"] as? String == "ready" }?["device_id"] as? String)
        }
    }

    /// Its Olm sessions, in no particular order.
    func channels() async throws -> Set<String> {
        Set(try #require(try await perform("channels")["channels"]).split(separator: " ").map(String.init))
    }

    /// Sends a message.
    ///
    /// - Returns: The ID of the message.
    func send(_ text: String, to roomId: String) async throws -> String {
        try #require(try await perform("send", roomId, text)["event_id"])
    }

    /// Waits for an encrypted message with this text.
    func hears(_ id: String, _ text: String, within bound: Duration = .seconds(60)) async -> Bool {
        let program = program.withLock { $0 }
        return await program.waitFor(within: bound) {
            $0["event_id"] as? String == id && $0["body"] as? String == text && $0["decrypted"] as? Bool == true
        }
    }

    /// Waits for an event that was decrypted and meets the condition.
    func hears(_ id: String, where condition: @Sendable ([String: Any]) -> Bool) async -> Bool {
        let program = program.withLock { $0 }
        return await program.waitFor {
            $0["event_id"] as? String == id && $0["type"] as? String == "heard"
                && condition($0["content"] as? [String: Any] ?? [:])
        }
    }

    /// Waits for the redaction of an event.
    func hearsRedaction(of id: String) async -> Bool {
        let program = program.withLock { $0 }
        return await program.waitFor { $0["event_id"] as? String == id && $0["type"] as? String == "redacted" }
    }

    /// Waits until it shows these emoji and numbers for comparison.
    func compares(_ emoji: [String], _ decimals: [Int]) async -> Bool {
        let program = program.withLock { $0 }
        return await program.waitFor {
            $0["type"] as? String == "compares" && $0["emoji"] as? [String] == emoji
                && $0["decimals"] as? [Int] == decimals
        }
    }

    /// Returns the emoji it shows for comparison.
    func comparedEmoji() async -> [String]? {
        let program = program.withLock { $0 }
        let find: @Sendable () -> [String]? = {
            program.output.compactMap { Self.object($0) }.first { $0["type"] as? String == "compares" }?["emoji"]
                as? [String]
        }
        _ = await eventually { find() != nil }
        return find()
    }

    /// Waits for an encrypted message with this text, and returns its ID.
    func heard(_ text: String) async -> String? {
        let program = program.withLock { $0 }
        let find: @Sendable () -> String? = {
            program.output.compactMap { Self.object($0) }
                .first { $0["body"] as? String == text && $0["decrypted"] as? Bool == true }?["event_id"] as? String
        }
        _ = await eventually { find() != nil }
        return find()
    }

    func verifies() async -> Bool {
        let program = program.withLock { $0 }
        return await program.waitFor { $0["type"] as? String == "verified" }
    }

    /// Waits until another device gives it the key of a session.
    func receivesKey(of session: String) async -> Bool {
        let program = program.withLock { $0 }
        return await program.waitFor { $0["type"] as? String == "key" && $0["session_id"] as? String == session }
    }

    /// Waits for a message that it decrypts.
    func reads(_ id: String) async -> Bool {
        let program = program.withLock { $0 }
        return await program.waitFor { $0["event_id"] as? String == id && $0["decrypted"] as? Bool == true }
    }

    /// Waits for a message that it cannot decrypt.
    func failsToRead(_ id: String) async -> Bool {
        let program = program.withLock { $0 }
        return await program.waitFor { $0["event_id"] as? String == id && $0["type"] as? String == "unreadable" }
    }
}
