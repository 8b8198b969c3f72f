import CurlTransport
import Foundation
import TestSupport
import Testing
import Transport

/// The basis of the other tests in this target.
@Suite(.onHomeserver, .overSockets)
struct HomeserverTests {
    private func versions(of homeserver: Homeserver) async throws -> [String] {
        let response = try await HTTPClient.send(
            HTTPRequest(url: homeserver.url + "/_matrix/client/versions"), options: NetworkOptions(proxy: ""))
        #expect(response.status == 200)
        let body = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        return try #require(body?["versions"] as? [String])
    }

    @Test(arguments: [Homeserver.Profile.plain, .shortTokens, .limited])
    func itSpeaksTheClientServerProtocol(profile: Homeserver.Profile) async throws {
        #expect(try await versions(of: Homeserver(profile)).contains("v1.11"))
    }

    @Test func whatOnePeerSendsAnotherHears() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, bob) = (try await homeserver.newUser("ann"), try await homeserver.newUser("bob"))
        let created = try await homeserver.peer(ann, "create", "--invite", bob.id).run()
        let room = try #require(created.objects.first?["room_id"] as? String)
        #expect(try await homeserver.peer(bob, "join", room).run().status == 0)
        let listener = homeserver.peer(bob, "listen", "--count", "1")
        try listener.start()
        #expect(await listener.waitFor { $0["type"] as? String == "ready" })
        let sent = try await homeserver.peer(ann, "send", room, "good \"morning\" 🌞").run()
        let event = try #require(try await listener.end().objects.last)
        #expect(event["event_id"] as? String == sent.objects.first?["event_id"] as? String)
        #expect(event["sender"] as? String == ann.id)
        #expect((event["content"] as? [String: Any])?["body"] as? String == "good \"morning\" 🌞")
    }

    @Test func killedItComesBackWithWhatItKnew() async throws {
        let homeserver = try Homeserver(.mortal)
        let ann = try await homeserver.newUser("ann")
        try await homeserver.kill()
        await #expect(throws: TransportError.self) { try await versions(of: homeserver) }
        try await homeserver.start()
        #expect(try await homeserver.peer(ann, "create").run().status == 0)
    }
}
