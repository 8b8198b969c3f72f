import Foundation
import TestSupport
import Testing

/// A real homeserver, started by `make -C Lab matrix-test`.
struct Homeserver: Sendable {
    /// A configuration: see `PROFILES` in Lab/matrix/homeserver.py.
    enum Profile: String {
        /// No limits, tokens valid for a day.
        case plain
        /// Like ``plain``, but for tests that kill the homeserver; other tests leave it alone.
        case mortal
        /// Access tokens valid for 15 seconds with a refresh token, for 4 without.
        case shortTokens = "short_tokens"
        /// One message a second, with bursts of three.
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

    /// Returns a test's own homeserver without limits; the test removes it.
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

    /// Creates a user that no other test uses.
    func newUser(_ name: String = "user") async throws -> User {
        let user = User(
            name: "\(name)-\(UUID().uuidString.prefix(8).lowercased())", password: UUID().uuidString)
        try await administer("register", user.name, user.password)
        return user
    }

    // MARK: Lifetime

    /// Kills it like a power failure.
    func kill() async throws { try await administer("kill") }

    /// Restarts it after ``kill()``; it answers when this returns.
    func start() async throws { try await administer("start") }

    /// Ends it, and deletes its data.
    func remove() async { try? await administer("remove") }

    private func administer(_ command: String, _ arguments: String...) async throws {
        let run = try await Program("Lab/matrix/homeserver", [command, folder] + arguments).run()
        try #require(run.status == 0, "homeserver \(command) failed")
    }

    // MARK: The other client

    enum Peer: String {
        /// matrix-nio with vodozemac.
        case current = ""
        /// An older matrix-nio with libolm.
        case libolm
    }

    /// Returns matrix-nio, logged in as `user`: see Lab/matrix/peer.py.
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
