import Basics
import Foundation
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport

/// A homeserver that accepts every login and answers syncs from a script, and a service for it in a folder of its own.
final class ServiceScene: Sendable {
    let server: FakeHomeserver
    let folder: URL
    private let answers = Lock<[FakeAnswer]>([])
    private let isPolled = Lock(false)

    init() async throws {
        server = try await FakeHomeserver.start()
        folder = FileManager.default.temporaryDirectory.appending(path: "service-\(UUID().uuidString)")
        server.on("GET", "versions", .json(#"{"versions":["v1.11"]}"#))
        server.on("POST", "v3/login", Self.login("token-1"))
        server.on("POST", "v3/logout", .ok)
        server.on("GET", "v3/account/whoami", .json(#"{"user_id":"@a:s","device_id":"DEVICE"}"#))
        let (answers, isPolled) = (answers, isPolled)
        server.on("GET", "v3/sync") { _ in
            answers.withLock { answers in
                isPolled.withLock { $0 = answers.isEmpty }
                return answers.isEmpty ? .silence : answers.removeFirst()
            }
        }
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    static func login(_ token: String, refreshToken: String? = nil, expires: Int? = nil) -> FakeAnswer {
        let refresh = refreshToken.map { #","refresh_token":"\#($0)""# } ?? ""
        let life = expires.map { #","expires_in_ms":\#($0)"# } ?? ""
        return .json(#"{"user_id":"@a:s","access_token":"\#(token)","device_id":"DEVICE"\#(refresh)\#(life)}"#)
    }

    /// Adds answers for the next polls; later polls stay pending.
    func script(_ new: FakeAnswer...) { answers.withLock { $0 += new } }

    /// Replaces the pending poll by one that gets an answer.
    func next(_ service: MXMatrixService, _ new: FakeAnswer...) async {
        _ = await eventually { self.isPolled.withLock { $0 } }
        answers.withLock { $0 += new }
        await service.session?.reconnect()
    }

    var credentials: [String: Any]? {
        let data = try? Data(contentsOf: folder.appending(path: "credentials.json"))
        return data.flatMap { try? JSONSerialization.jsonObject(with: $0) } as? [String: Any]
    }

    /// The mode of a file in the folder, or of the folder itself without a name.
    func mode(_ name: String = "") -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: folder.appending(path: name).path)
        return (attributes?[.posixPermissions] as? NSNumber)?.intValue
    }

    @MainActor
    func service() async throws -> MXMatrixService {
        var options = MXSessionOptions()
        options.reconnectPolicy = .exponential(base: .milliseconds(5), maximumDelay: .milliseconds(50))
        let service = MXMatrixService(sessionOptions: options, clientOptions: .quick)
        try await service.initialize(homeserverURL: server.address, sessionPath: folder.path)
        return service
    }

    /// A service that is logged in and synced, with the room `!r:s` of `@a:s` and `@b:s`.
    @MainActor
    func running() async throws -> MXMatrixService {
        let service = try await service()
        try await service.loginWithPassword(username: "a", password: "secret")
        script(Sync.answer("s1", Sync.room(state: Sync.members)))
        try await service.startSync()
        return service
    }
}
