import Basics
import PusherProtocol
import PusherProtocolTestSupport
import TestSupport
import Testing

/// Authorizations that failed for a temporary reason.
struct AuthorizationRetryTests {
    private let failure = AuthFailure("it answered 503", status: 503, kind: .temporary)

    private func client() throws -> ClientScript {
        var client = ClientScript.connected { $0.maximumAuthRetries = 2 }
        _ = try client.subscribe("private-x")
        _ = client.take()
        return client
    }

    @Test func areTriedAgainAfterADelay() throws {
        var client = try client()
        client.answer("private-x", .failure(failure))
        #expect(
            client.take() == [
                "error channel private-x: authorization failed: it answered 503; will retry in 1.0 s"
            ])
        client.pass(.milliseconds(999))
        #expect(client.take() == [])
        #expect(client.machine.nextDeadline == client.now + .milliseconds(1))
        client.pass(.milliseconds(1))
        #expect(client.take() == ["authorize private-x 1.1"])
        client.answer("private-x")
        #expect(client.take() == ["send subscribe private-x k:s"])
    }

    @Test func areMadeAfterATimeOutToo() throws {
        var client = try client()
        client.pass(.seconds(30))
        #expect(
            client.take() == [
                "cancel authorization",
                "error channel private-x: authorization failed: there was no answer in time; will retry in 1.0 s",
            ])
        client.pass(.seconds(1))
        #expect(client.take() == ["authorize private-x 1.1"])
        client.answer("private-x")
        #expect(client.take() == ["send subscribe private-x k:s"])
    }

    @Test func endAfterTheLastRetry() throws {
        var client = try client()
        for _ in 0..<2 {
            client.answer("private-x", .failure(failure))
            client.pass(.seconds(1))
            _ = client.take()
        }
        client.answer("private-x", .failure(failure))
        #expect(client.take() == ["failed channel private-x: authorization failed: it answered 503"])
        client.pass(.seconds(10))
        #expect(client.take() == [])
    }

    @Test func areNotMadeForARefusal() throws {
        var client = try client()
        client.answer("private-x", .failure(AuthFailure("it answered 403", status: 403)))
        #expect(client.take() == ["failed channel private-x: authorization failed: it answered 403"])
    }

    @Test func areForgottenByUnsubscribing() throws {
        var client = try client()
        client.answer("private-x", .failure(failure))
        client.unsubscribe("private-x")
        _ = client.take()
        client.pass(.seconds(1))
        #expect(client.take() == [])
    }

    @Test func startAnewOnTheNextConnection() throws {
        var client = try client()
        client.answer("private-x", .failure(failure))
        client.close(4200)
        client.pass(.zero)
        _ = client.take()
        client.establish(socketID: "2.2")
        #expect(client.take().contains("authorize private-x 2.2"))
        client.pass(.seconds(1))
        #expect(client.take() == [])
    }
}
