import Basics
import CurlTransport
import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing
import Transport

/// A user with a service, and a record of its reports.
@MainActor
final class ServiceUser {
    let user: Homeserver.User
    let homeserver: Homeserver
    let folder: URL
    private(set) var service: MXMatrixService
    private(set) var messages: [MatrixMessage] = []
    private(set) var rooms: [MatrixRoom] = []
    private(set) var typing: [[String]] = []

    init(
        _ name: String, on homeserver: Homeserver, _ change: (inout MXSessionOptions) -> Void = { _ in }
    ) async throws {
        self.homeserver = homeserver
        user = try await homeserver.newUser(name)
        folder = FileManager.default.temporaryDirectory.appending(path: "service-\(UUID().uuidString)")
        var options = MXSessionOptions()
        options.reconnectPolicy = .exponential(base: .milliseconds(100), maximumDelay: .seconds(1))
        change(&options)
        service = MXMatrixService(sessionOptions: options, clientOptions: .direct)
        listen()
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func listen() {
        service.onMessageReceived = { [weak self] in self?.messages.append($0) }
        service.onRoomUpdated = { [weak self] in self?.rooms.append($0) }
        service.onTypingIndicator = { [weak self] _, users in self?.typing.append(users) }
    }

    func initialize() async throws {
        try await service.initialize(homeserverURL: homeserver.url, sessionPath: folder.path)
    }

    /// Logs in with the password, and starts syncing.
    func start() async throws {
        try await initialize()
        try await service.loginWithPassword(username: user.name, password: user.password)
        try await service.startSync()
    }

    /// Restarts like a new run of the program, with the data in the folder.
    func restart() async throws -> Bool {
        service.session?.close()
        service = MXMatrixService(clientOptions: .direct)
        listen()
        try await initialize()
        return try await service.restoreSession()
    }

    /// Waits until the service's reports meet a condition.
    func sees(_ condition: @escaping @MainActor (ServiceUser) -> Bool) async -> Bool {
        await eventually { await condition(self) }
    }

    /// Waits until the homeserver rejects an access token.
    static func dies(_ token: String?, of homeserver: String) async -> Bool {
        let client = MXRestClient(
            credentials: MXCredentials(homeServer: homeserver, userId: nil, accessToken: token), options: .direct)
        return await eventually { (try? await client.whoAmI()) == nil }
    }

    /// Returns the newest reported version of a message.
    func message(_ id: String) -> MatrixMessage? { messages.last { $0.id == id } }

    func join(_ roomId: String) async throws {
        #expect(await sees { $0.service.session?.room(withRoomId: roomId) != nil })
        #expect(try await service.joinRoom(roomIdOrAlias: roomId) == roomId)
    }

    /// The access token in the credentials file.
    var accessToken: String? {
        let data = try? Data(contentsOf: folder.appending(path: "credentials.json"))
        return data.flatMap { try? JSONDecoder().decode(MXCredentials.self, from: $0) }?.accessToken
    }
}

extension MXRestClientOptions {
    /// Options that bypass any proxy of the environment.
    static var direct: MXRestClientOptions {
        var options = MXRestClientOptions()
        options.proxy = ""
        return options
    }
}

/// A square of 48 by 48 pixels.
enum Picture {
    static let data =
        Data(
            base64Encoded: """
                iVBORw0KGgoAAAANSUhEUgAAADAAAAAwCAIAAADYYG7QAAAAOklEQVR42u3OQQ0AAAgEoItjHGMbyxbOBxsByHS9EiEhISEhISEhISEhISEhISEhISEhISEhISGhOwux9ECmmjbGZAAAAABJRU5ErkJggg==
                """, options: .ignoreUnknownCharacters) ?? Data()
}
