import Basics
import JSONBytes
import PusherProtocol
import PusherProtocolTestSupport
import TestSupport
import Testing

/// Few authorizations run at a time. A free slot is taken at once, however it became free.
struct AuthorizationSlotTests {
    private let name = "private-encrypted-x"
    private let oldKey = ChannelKey([UInt8](repeating: 1, count: 32))
    private let newKey = ChannelKey([UInt8](repeating: 2, count: 32))

    /// Returns a client whose only slot is taken by a request for a newer key, with a pending subscription; `private-y`
    /// waits.
    private func askingForAKey() throws -> ClientScript {
        var client = ClientScript.connected { $0.maximumAuthRequests = 1 }
        _ = try client.subscribe(name)
        _ = client.take()
        client.answer(name, .success(AuthAnswer(auth: "k:s", sharedSecret: oldKey?.base64)))
        client.succeed(name)
        let data = try #require(newKey).encrypt("1")
        client.receive(#"{"event":"e","channel":"\#(name)","data":\#(JSONString.quoted(data))}"#)
        client.close(4200)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        _ = client.take()
        client.answer(name, .success(AuthAnswer(auth: "k:s", sharedSecret: oldKey?.base64)))
        #expect(client.take() == ["send subscribe \(name) k:s", "authorize \(name) 2.2"])
        _ = try client.subscribe("private-y")
        #expect(client.take() == [])
        return client
    }

    @Test func leavingBeforeTheServersAnswerFreesIt() throws {
        var client = try askingForAKey()
        client.unsubscribe(name)
        #expect(client.take() == ["cancel authorization", "authorize private-y 2.2"])
    }

    @Test func theChannelThatIsJoinedAgainDoesNotInheritIt() throws {
        var client = try askingForAKey()
        client.unsubscribe(name)
        let id = try client.subscribe(name)
        #expect(client.take() == ["cancel authorization", "authorize private-y 2.2"])
        client.answer("private-y")
        client.succeed(name)
        #expect(client.machine.isSubscribed(id))
    }

    @Test func leavingAfterTheServersRefusalFreesIt() throws {
        var client = try askingForAKey()
        client.receive(#"{"event":"pusher:subscription_error","channel":"\#(name)","data":{}}"#)
        _ = client.take()
        client.unsubscribe(name)
        #expect(client.take() == ["cancel authorization", "authorize private-y 2.2"])
    }

    // MARK: Signatures provided by the application

    @Test func aSignatureGivenBeforeConnectingIsUsed() throws {
        var client = ClientScript()
        let id = try client.subscribe("private-x")
        #expect(try client.subscribe("private-x", auth: AuthAnswer(auth: "k:given")) == id)
        #expect(client.take() == [])
        client.machine.connect(now: client.now)
        _ = client.take()
        client.establish(socketID: "1.1")
        #expect(client.take() == ["send subscribe private-x k:given", "connecting → connected"])
    }

    @Test func aSignatureGivenWhileTheChannelWaitsNeedsNoPlace() throws {
        var client = ClientScript.connected { $0.maximumAuthRequests = 1 }
        _ = try client.subscribe("private-a")
        let id = try client.subscribe("private-b")
        #expect(client.take() == ["authorize private-a 1.1"])
        #expect(try client.subscribe("private-b", auth: AuthAnswer(auth: "k:given")) == id)
        #expect(client.take() == ["send subscribe private-b k:given"])
        client.answer("private-a")
        #expect(client.take() == ["send subscribe private-a k:s"])  // and private-b does not ask anymore
    }

    @Test func aSignatureGivenBetweenTwoRetriesEndsThem() throws {
        var client = ClientScript.connected { $0.maximumAuthRetries = 2 }
        _ = try client.subscribe("private-x")
        _ = client.take()
        client.answer("private-x", .failure(AuthFailure("it answered 503", status: 503, kind: .temporary)))
        _ = client.take()
        _ = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:given"))
        #expect(client.take() == ["send subscribe private-x k:given"])
        client.pass(.seconds(1))
        #expect(client.take() == [])
    }
}
