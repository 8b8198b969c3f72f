import Basics
import Foundation
import FoundationNetworking
import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

// The samples of the older library's documents, adapted to Swift 6 mode. Their original form is in
// SourceCompatibilityTests/OlderSamples.swift. The article on older versions contains both.

private struct AuthRequestBuilder: AuthRequestBuilderProtocol {
    let url: URL

    func requestFor(socketID: String, channelName: String) -> URLRequest? {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data("socket_id=\(socketID)&channel_name=\(channelName)".utf8)
        request.addValue("myToken", forHTTPHeaderField: "Authorization")
        return request
    }
}

@MainActor
private final class DummyDelegate: PusherDelegate {
    private(set) var subscribed: [String] = []

    nonisolated func subscribedToChannel(name: String) {
        Task { @MainActor in subscribed.append(name) }
    }
}

private final class PresenceDelegate: PusherDelegate {
    private let names = Lock<[String]>([])

    var subscribed: [String] { names.withLock { $0 } }

    func subscribedToChannel(name: String) {
        names.withLock { $0.append(name) }
    }
}

@Suite(.overSockets)
struct OlderSamplesTests {
    @MainActor
    @Test func theSamplesOfOlderDocumentsRunInSwift6Mode() async throws {
        try await withServer { server in
            let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/pusher/auth"))
            let delegates = (DummyDelegate(), PresenceDelegate())
            let members = Lock<[String]>([])
            let pushers = ["ann", "bob"].map { _ in
                Pusher.make(server, Recorder()) {
                    $0.authMethod = .authRequestBuilder(authRequestBuilder: AuthRequestBuilder(url: url))
                }
            }
            pushers[0].delegate = delegates.0
            pushers[1].connection.delegate = delegates.1

            let onMemberChange: @Sendable (PusherPresenceChannelMember) -> Void = { member in
                members.withLock { $0.append(member.userId) }
            }
            pushers[0].subscribeToPresenceChannel(
                channelName: "presence-channel", onMemberAdded: onMemberChange, onMemberRemoved: onMemberChange)
            pushers[0].connect()
            #expect(await eventually { await delegates.0.subscribed == ["presence-channel"] })
            pushers[1].subscribeToPresenceChannel(channelName: "presence-channel")
            pushers[1].connect()
            #expect(await eventually { delegates.1.subscribed == ["presence-channel"] })
            #expect(await eventually { members.withLock { $0.count } == 1 })
            pushers[1].disconnect()
            #expect(await eventually { members.withLock { $0.count } == 2 })
            pushers[0].disconnect()
        }
    }
}
