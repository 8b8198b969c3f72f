import Foundation
import MatrixSDK
import MatrixTestSupport
import Testing

/// A homeserver for the samples: in every run one of ours, and in addition the one without limits if `make -C Lab
/// matrix-test` has started it.
enum SampleServer: Sendable, CaseIterable, CustomTestStringConvertible {
    case small
    case synapse

    static var allCases: [SampleServer] { address == nil ? [.small] : [.small, .synapse] }
    private static var address: String? { ProcessInfo.processInfo.environment["MATRIX_PLAIN_URL"] }

    struct User: Sendable {
        let name: String
        let password: String
        let id: String
        let accessToken: String
    }

    var testDescription: String { "\(self)" }

    /// The address of the server; one of ours is not shared with other tests.
    func start() async throws -> String {
        switch self {
        case .small: try await SmallHomeserver.start().server.address
        case .synapse: try #require(Self.address)
        }
    }

    /// Logs in a user that no other test uses.
    static func newUser(_ name: String, at url: String) async throws -> User {
        let client = MXRestClient(homeServer: try #require(URL(string: url)))
        let name = "\(name)-\(UUID().uuidString.prefix(8).lowercased())"
        let password = UUID().uuidString
        let credentials = try await client.register(username: name, password: password).completed { _ in .dummy }
        return User(
            name: name, password: password, id: try #require(credentials?.userId),
            accessToken: try #require(credentials?.accessToken))
    }
}

/// Waits for a condition on the main actor.
@MainActor
func holds(_ condition: @MainActor () throws -> Bool) async rethrows -> Bool {
    for _ in 0..<3000 {
        if try condition() { return true }
        try? await Task.sleep(nanoseconds: 10_000_000)
    }
    return false
}
