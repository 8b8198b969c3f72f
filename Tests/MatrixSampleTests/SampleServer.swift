import Foundation
import MatrixSDK
import Testing

/// The homeserver without limits that `make matrix-test` has started, and accounts of it.
struct SampleServer: Sendable {
    let url: String

    struct User: Sendable {
        let name: String
        let password: String
        let id: String
        let accessToken: String
    }

    init() throws {
        url = try #require(Self.address)
    }

    static var address: String? { ProcessInfo.processInfo.environment["MATRIX_PLAIN_URL"] }

    /// A user whom no other test has, logged in.
    func newUser(_ name: String) async throws -> User {
        let client = MXRestClient(homeServer: try #require(URL(string: url)))
        let name = "\(name)-\(UUID().uuidString.prefix(8).lowercased())"
        let password = UUID().uuidString
        let credentials = try await client.register(username: name, password: password).completed { _ in .dummy }
        return User(
            name: name, password: password, id: try #require(credentials?.userId),
            accessToken: try #require(credentials?.accessToken))
    }
}

extension Trait where Self == ConditionTrait {
    static var onHomeserver: Self {
        .enabled(if: SampleServer.address != nil, "there is no homeserver: make matrix-test starts some")
    }
}

/// Waits until something holds that the main actor sees.
@MainActor
func holds(_ condition: @MainActor () throws -> Bool) async rethrows -> Bool {
    for _ in 0..<3000 {
        if try condition() { return true }
        try? await Task.sleep(nanoseconds: 10_000_000)
    }
    return false
}
