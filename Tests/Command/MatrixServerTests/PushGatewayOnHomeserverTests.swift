import CurlTransport
import Foundation
import TestSupport
import Testing
import Transport

@testable import MatrixCommands

/// Our push gateway with the pushes of a real homeserver.
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(2)))
struct PushGatewayOnHomeserverTests {
    /// Returns the homeserver's answer to a call of the client-server protocol.
    private func call(
        _ homeserver: Homeserver, _ path: String, token: String? = nil, _ body: [String: Any]
    ) async throws -> [String: Any] {
        var request = HTTPRequest(
            method: "POST", url: homeserver.url + "/_matrix/client/v3" + path,
            body: Array(try JSONSerialization.data(withJSONObject: body)))
        if let token { request.fields["Authorization"] = "Bearer \(token)" }
        let response = try await HTTPClient.send(request, options: NetworkOptions(proxy: ""))
        try #require(response.status == 200, "\(path) is answered with \(response.status)")
        return try #require(try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    @Test func aMessageReachesTheGateway() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, bob) = (try await homeserver.newUser("ann"), try await homeserver.newUser("bob"))
        let gateway = try await PushGateway.start()
        let login = try await call(
            homeserver, "/login",
            [
                "type": "m.login.password", "password": bob.password,
                "identifier": ["type": "m.id.user", "user": bob.name],
            ])
        let token = try #require(login["access_token"] as? String)
        _ = try await call(
            homeserver, "/pushers/set", token: token,
            [
                "pushkey": "token-of-the-device", "kind": "http", "app_id": "org.example", "lang": "en",
                "app_display_name": "Example", "device_display_name": "Test", "data": ["url": gateway.url],
            ])
        let created = try await homeserver.peer(ann, "create", "--name", "Room 1", "--invite", bob.id).run()
        let room = try #require(created.objects.first?["room_id"] as? String)
        #expect(try await homeserver.peer(bob, "join", room).run().status == 0)
        let sent = try await homeserver.peer(ann, "send", room, "good morning").run()

        // The homeserver decides whether the invitation comes first: it may find it already read.
        var reader = gateway.notifications.makeAsyncIterator()
        var message = await reader.next()
        while let other = message, other.type != "m.room.message" { message = await reader.next() }
        let notification = try #require(message)
        #expect(notification.eventID == sent.objects.first?["event_id"] as? String)
        #expect(notification.roomID == room)
        #expect(notification.sender == ann.id)
        #expect(notification.roomName == "Room 1")
        #expect(notification.content == #"{"body":"good morning","msgtype":"m.text"}"#)
        #expect(notification.unread == 1)
        #expect(notification.devices.map(\.appID) == ["org.example"])
        #expect(notification.devices.map(\.pushKey) == ["token-of-the-device"])
        await gateway.stop()
    }
}
