import Foundation
import TestSupport
import Testing

/// A real homeserver that `make -C Lab matrix-test` has started.
struct Homeserver: Sendable {
    /// How it is configured: `PROFILES` of Lab/matrix/homeserver.py.
    enum Profile: String {
        /// No limits, tokens for a day.
        case plain
        /// The same, and for tests that kill it: others leave it alone.
        case mortal
        /// Access tokens live for 15 seconds with a refresh token, for 4 without.
        case shortTokens = "short_tokens"
        /// One message a second, three at once.
        case limited
    }

    let url: String
    private let folder: String

    private struct NotStarted: Error {}

    init(_ profile: Profile) throws {
        guard let url = Self.variable(profile, "URL"), let folder = Self.variable(profile, "FOLDER") else {
            throw NotStarted()
        }
        (self.url, self.folder) = (url, folder)
    }

    /// One of a test's own, without limits; the test removes it.
    static func temporary() async throws -> Homeserver {
        let run = try await Program("Lab/matrix/homeserver", ["new"]).run()
        let description = try #require(run.objects.first, "no homeserver could be started")
        return Homeserver(
            url: try #require(description["url"] as? String), folder: try #require(description["folder"] as? String))
    }

    private init(url: String, folder: String) {
        (self.url, self.folder) = (url, folder)
    }

    static var isStarted: Bool { variable(.plain, "URL") != nil }

    private static func variable(_ profile: Profile, _ name: String) -> String? {
        ProcessInfo.processInfo.environment["MATRIX_\(profile.rawValue.uppercased())_\(name)"]
    }

    // MARK: Users

    struct User: Sendable {
        let name: String
        let password: String

        var id: String { "@\(name):hs.test" }
    }

    /// A user whom no other test has.
    func newUser(_ name: String = "user") async throws -> User {
        let user = User(
            name: "\(name)-\(UUID().uuidString.prefix(8).lowercased())", password: UUID().uuidString)
        try await administer("register", user.name, user.password)
        return user
    }

    // MARK: Life

    /// As if the machine had lost its power.
    func kill() async throws { try await administer("kill") }

    /// Starts it again after ``kill()``; it answers when this returns.
    func start() async throws { try await administer("start") }

    /// Ends it, and deletes what it had.
    func remove() async { try? await administer("remove") }

    private func administer(_ command: String, _ arguments: String...) async throws {
        let run = try await Program("Lab/matrix/homeserver", [command, folder] + arguments).run()
        try #require(run.status == 0, "homeserver \(command) failed")
    }

    // MARK: The other client

    enum Peer: String {
        /// matrix-nio on vodozemac.
        case current = ""
        /// An older one on libolm.
        case libolm
    }

    /// matrix-nio, logged in as `user`: see Lab/matrix/peer.py.
    func peer(_ user: User, kind: Peer = .current, _ arguments: String...) -> Program {
        Program(
            "Lab/matrix/peer", arguments,
            environment: [
                "MATRIX_URL": url, "MATRIX_USER": user.name, "MATRIX_PASSWORD": user.password,
                "MATRIX_PEER": kind.rawValue,
            ])
    }
}

extension Trait where Self == ConditionTrait {
    static var onHomeserver: Self {
        .enabled(if: Homeserver.isStarted, "there is no homeserver: make -C Lab matrix-test starts some")
    }
}
