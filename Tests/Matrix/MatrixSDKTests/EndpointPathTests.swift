import MatrixProtocol
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixSDK

/// IDs, names, types and keys each become one path segment, or nothing is sent.
@Suite(.overSockets)
struct EndpointPathTests {
    private static let calls: [@Sendable (MXRestClient, String) async throws -> Void] = [
        { _ = try await $0.leaveRoom($1) }, { _ = try await $0.joinRoom($1) },
        { _ = try await $0.event(withId: $1, inRoom: "!r:s") }, { _ = try await $0.state(ofRoom: $1) },
        { _ = try await $0.stateEvent(ofRoom: "!r:s", eventType: MXEventType(identifier: $1)) },
        { _ = try await $0.stateEvent(ofRoom: "!r:s", eventType: .roomName, stateKey: $1) },
        { _ = try await $0.profile(ofUser: $1) }, { _ = try await $0.resolveRoomAlias($1) },
        { _ = try await $0.device(withId: $1) }, { _ = try await $0.removeTag($1, fromRoom: "!r:s") },
        { _ = try await $0.accountData(ofType: $1) }, { _ = try await $0.filter(withId: $1) },
    ]

    @Test(arguments: [".", ".."])
    func segmentsOfDotsAreNotSent(text: String) async throws {
        let server = try await FakeHomeserver.start()
        let client = MXRestClient.make(server)
        for (index, call) in Self.calls.enumerated() {
            await #expect("\(index)") { try await call(client, text) } throws: {
                ($0 as? MatrixError)?.code == .invalidArgument
            }
        }
        #expect(client.ssoURL(redirectURL: "http://h/", identityProvider: text) == nil)
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: ["%2e%2e", "a/../b", "../..", "a?b#c", "!r:s/x", "...", "\\..\\"])
    func anythingElseIsOneSegment(text: String) async throws {
        let server = try await FakeHomeserver.start()
        let client = MXRestClient.make(server)
        for call in Self.calls { _ = try? await call(client, text) }
        #expect(server.requests.count == Self.calls.count)
        for request in server.requests {
            #expect(request.path.contains(text))
            #expect(!request.rawPath.contains("?") && !request.rawPath.contains("#"))
        }
    }
}
