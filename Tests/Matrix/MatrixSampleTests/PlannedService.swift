// The imports of the service of the migration plan.
import Combine
import Foundation
import MatrixSDK

/// A service as an application would write it on the session's callbacks: observable, on the main actor, with the
/// session's delegate in an extension.
@MainActor
@Observable
final class PlannedService {
    enum State: Equatable {
        case disconnected, connecting, connected
        case error(String)
    }

    enum Failure: Error {
        case notInitialized, notLoggedIn, roomNotFound
        case sdk(String)
    }

    private(set) var state = State.disconnected
    private(set) var refreshTokens: [String] = []
    var onMessage: ((String, MXEvent) -> Void)?

    @ObservationIgnored private let stateSubject = CurrentValueSubject<State, Never>(.disconnected)
    @ObservationIgnored private var client: MXRestClient?
    @ObservationIgnored private(set) var session: MXSession?
    @ObservationIgnored private(set) var store: MXFileStore?
    @ObservationIgnored private var listeners: [String: Any] = [:]

    var statePublisher: AnyPublisher<State, Never> { stateSubject.eraseToAnyPublisher() }

    var userId: String? {
        if let session, let userId = session.myUserId { userId } else { nil }
    }

    private func update(_ new: State) {
        state = new
        stateSubject.send(new)
    }

    private func value<Value: Sendable>(
        _ start: (@escaping (MXResponse<Value>) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            start { response in
                switch response {
                case .success(let value): continuation.resume(returning: value)
                case .failure(let error): continuation.resume(throwing: self.failure(error))
                }
            }
        }
    }

    private func failure(_ error: any Error) -> any Error {
        if let error = error as? MXError, error.errcode == kMXErrCodeStringUnknownToken { return Failure.notLoggedIn }
        return Failure.sdk("\(error)")
    }

    // MARK: Account

    func initialize(homeserverURL: String) throws {
        guard let url = URL(string: homeserverURL) else { throw Failure.notInitialized }
        client = MXRestClient(homeServer: url, unrecognizedCertificateHandler: nil)
    }

    func login(username: String, password: String, folder: URL) async throws {
        guard let client else { throw Failure.notInitialized }
        let response = try await value {
            client.login(type: .password, username: username, password: password, completion: $0)
        }
        let credentials = MXCredentials(from: response)
        let session = MXSession(
            matrixRestClient: MXRestClient(
                credentials: credentials, persistentTokenDataHandler: { _ in }, unauthenticatedHandler: { _, _, _ in }))
        session.delegate = self
        let store = MXFileStore(folder: folder)
        try await value { session.setStore(store, completion: $0) } as Void
        self.session = session
        self.store = store
    }

    func logout() async throws {
        guard let session else { throw Failure.notLoggedIn }
        try await value { session.logout(completion: $0) } as Void
        session.close()
        try store?.deleteAllData()
        self.session = nil
        update(.disconnected)
    }

    // MARK: Sync

    func startSync() async throws {
        guard let session else { throw Failure.notLoggedIn }
        update(.connecting)
        do {
            try await value { session.start(completion: $0) } as Void
            update(.connected)
        } catch {
            update(.error("\(error)"))
            throw error
        }
        for room in session.rooms.filter({ $0.summary.membership == .join }) { listen(to: room) }
    }

    func stopSync() {
        session?.pause()
        update(.disconnected)
    }

    func resumeSync() async {
        guard let session else { return }
        await withCheckedContinuation { continuation in session.resume { continuation.resume() } }
        update(.connected)
    }

    private func listen(to room: MXRoom) {
        guard listeners[room.roomId] == nil else { return }
        room.liveTimeline { timeline in
            self.listeners[room.roomId] = timeline.listenToEvents([.roomMessage]) { event, direction, _ in
                guard direction == .forwards else { return }
                self.onMessage?(room.roomId, event)
            }
        }
    }

    // MARK: Rooms

    private func room(_ roomId: String) throws -> MXRoom {
        guard let session else { throw Failure.notLoggedIn }
        guard let room = session.room(withRoomId: roomId) else { throw Failure.roomNotFound }
        return room
    }

    func createRoom(
        name: String?, isDirect: Bool, inviteUserIds: [String], isEncrypted: Bool = false
    ) async throws -> String {
        guard let session else { throw Failure.notLoggedIn }
        let parameters = MXRoomCreationParameters()
        parameters.name = name
        parameters.isDirect = isDirect
        parameters.inviteArray = inviteUserIds
        parameters.preset = isDirect ? kMXRoomPresetTrustedPrivateChat : kMXRoomPresetPrivateChat
        if isEncrypted {
            parameters.initialStateEvents = [
                ["type": "m.room.encryption", "state_key": "", "content": ["algorithm": "m.megolm.v1.aes-sha2"]]
            ]
        }
        let room = try await value { session.createRoom(parameters: parameters, completion: $0) }
        listen(to: room)
        return room.roomId
    }

    func joinRoom(_ roomIdOrAlias: String) async throws -> String {
        guard let session else { throw Failure.notLoggedIn }
        let room = try await value { session.joinRoom(roomIdOrAlias, completion: $0) }
        listen(to: room)
        return room.roomId
    }

    func leaveRoom(_ roomId: String) async throws {
        guard let session else { throw Failure.notLoggedIn }
        try await value { session.leaveRoom(roomId, completion: $0) } as Void
        listeners[roomId] = nil
    }

    func joinedRooms() -> [(id: String, name: String, isDirect: Bool)] {
        guard let session else { return [] }
        return session.rooms.filter { $0.summary.membership == .join }
            .map { ($0.roomId, $0.summary.displayName, $0.isDirect) }
    }

    func invite(_ userId: String, to roomId: String) async throws {
        let room = try room(roomId)
        try await value { room.invite(.userId(userId), completion: $0) } as Void
    }

    func kick(_ userId: String, from roomId: String, reason: String) async throws {
        let room = try room(roomId)
        try await value { room.kickUser(userId, reason: reason, completion: $0) } as Void
    }

    // MARK: Messages

    func send(_ text: String, html: String?, to roomId: String) async throws -> String {
        let room = try room(roomId)
        var echo: MXEvent?
        let id: String? = try await value {
            room.sendTextMessage(text, formattedText: html, threadId: nil, localEcho: &echo, completion: $0)
        }
        return id ?? ""
    }

    func sendImage(_ file: URL, to roomId: String) async throws -> String {
        let room = try room(roomId)
        let id: String? = try await value {
            room.sendImage(file, mimeType: "image/png", size: CGSize(width: 48, height: 48), completion: $0)
        }
        return id ?? ""
    }

    func sendFile(_ file: URL, to roomId: String) async throws -> String {
        let room = try room(roomId)
        let id: String? = try await value { room.sendFile(file, mimeType: "text/plain", completion: $0) }
        return id ?? ""
    }

    func edit(_ eventId: String, in roomId: String, to text: String) async throws {
        let room = try room(roomId)
        _ = try await value { room.sendTextMessage(text, replaces: eventId, completion: $0) }
    }

    func redact(_ eventId: String, in roomId: String, reason: String?) async throws {
        let room = try room(roomId)
        try await value { room.redactEvent(eventId, reason: reason, completion: $0) } as Void
    }

    func toggle(_ key: String, on eventId: String, in roomId: String) async throws {
        let room = try room(roomId)
        let reaction = room.aggregations(forEvent: eventId)?.reactions?[key]
        if reaction?.containsCurrentUser == true {
            try await value { room.unreact(key, toEvent: eventId, completion: $0) } as Void
        } else {
            try await value { room.react(key, toEvent: eventId, completion: $0) } as Void
        }
    }

    func reactions(to eventId: String, in roomId: String) throws -> [String: Int] {
        let reactions = try room(roomId).aggregations(forEvent: eventId)?.reactions ?? [:]
        return Dictionary(uniqueKeysWithValues: reactions.map { ($0.key, $0.value.count) })
    }

    func setTyping(_ isTyping: Bool, in roomId: String) async throws {
        let room = try room(roomId)
        try await value { room.sendTypingNotification(typing: isTyping, timeout: 30000, completion: $0) } as Void
    }

    func markAsRead(_ roomId: String) throws {
        try room(roomId).markAllAsRead()
    }

    func messages(of roomId: String, limit: UInt) async throws -> [MXEvent] {
        let room = try room(roomId)
        let timeline = room.liveTimeline
        var events: [MXEvent] = []
        let listener = timeline.listenToEvents([.roomMessage]) { event, direction, _ in
            if direction == .backwards { events.append(event) }
        }
        timeline.resetPagination()
        try await value { _ = timeline.paginate(limit, direction: .backwards, onlyFromStore: false, completion: $0) }
            as Void
        timeline.removeListener(listener)
        return events.reversed()
    }
}

extension PlannedService: MXSessionDelegate {
    func session(_ session: MXSession, didReceiveError error: any Error) {
        if let error = error as? MXError, error.errcode == kMXErrCodeStringUnknownToken {
            update(.error("logged out"))
        } else {
            update(.error("\(error)"))
        }
    }

    func session(_ session: MXSession, newRefreshToken refreshToken: String) {
        refreshTokens.append(refreshToken)
    }
}
