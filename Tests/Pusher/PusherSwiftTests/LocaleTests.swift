import Basics
import JSONBytes
import PusherMockServer
import PusherProtocol
import PusherProtocolTestSupport
import PusherSwift
import PusherTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// A program in a locale with different numbers and letters.
struct LocaleTests {
    /// Runs in a separate process, where numbers have a decimal comma and, if the system supports Turkish, the
    /// lowercase letter of `I` is not `i`.
    @Test(.regression("Numbers and names were read by the rules of the locale."))
    func nothingDependsOnTheLocale() async {
        await #expect(processExitsWith: .success) {
            try await useForeignLocale()
            try Abroad.readAndWriteNumbers()
            try Abroad.compareNames()
            try await Abroad.connect()
        }
    }
}

/// Results that are the same in every locale.
private enum Abroad {
    private struct Price: Codable {
        let amount: Double
    }

    static func readAndWriteNumbers() throws {
        var client = ClientScript()
        client.machine.connect(now: client.now)
        _ = client.take()
        client.receive(
            #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"1234567.89\",\"activity_timeout\":7.5}"}"#
        )
        #expect(client.machine.nextDeadline == client.now + .seconds(7.5))
        #expect(client.machine.socketID?.string == "1234567.89")
        _ = client.take()
        let id = try client.subscribe("presence-x", auth: AuthAnswer(auth: "k:s", channelData: #"{"user_id":1234567}"#))
        client.succeed("presence-x", data: #"{"presence":{"ids":[1234567],"hash":{"1234567":{"x":2.5}}}}"#)
        #expect(client.machine.myID(on: id) == "1234567")
        #expect(client.machine.members(of: id)["1234567"]?.userInfo == #"{"x":2.5}"#)
        _ = client.take()
        client.receive(#"{"event":"e","channel":"presence-x","data":{"amount": 1234567.25}}"#)
        guard case .events(let batch)? = client.machine.takeNotices().first, let event = batch.first?.event else {
            Issue.record("no event")
            return
        }
        #expect(event.data == #"{"amount":1234567.25}"#)
        #expect(try event.decode(Price.self).amount == 1_234_567.25)
        #expect(JSON.text(["amount": 1_234_567.25]) == #"{"amount":1234567.25}"#)
        #expect(JSON.value("2.5") as? Double == 2.5)
        client.close(4100)
        #expect(client.take().contains { $0.hasSuffix("(code 4100); will retry in 1.0 s") })
    }

    static func compareNames() throws {
        let fields: HTTPFields = ["TITLE-ID": "x"]
        #expect(fields["title-id"] == "x")
        #expect(try ChannelName("PRIVATE-I").kind == .public)
        #expect("İi".percentEncoded == "%C4%B0i")
    }

    static func connect() async throws {
        let recorder = Recorder()
        var configuration = PusherMockServer.Configuration()
        configuration.requiredAuthHeaders = ["X-TITLE-ID": "I"]
        try await withServer(configuration) { server in
            let pusher = Pusher.make(server, recorder) {
                $0.authMethod = .endpoint(authEndpoint: "http://127.0.0.1:\(server.port)/pusher/auth")
                $0.authHeaders = { ["x-title-id": "I"] }
            }
            pusher.subscribe("private-TITLE").bind(
                eventName: "e", callback: { recorder.add("parsed \($0 as? Double ?? 0)") })
            pusher.connect()
            #expect(await recorder.waitFor("subscribed private-TITLE", within: .seconds(10)))
            await server.publish(event: "e", channel: "private-TITLE", data: "2.5")
            #expect(await recorder.waitFor("parsed 2.5", within: .seconds(10)))
        }
    }
}
