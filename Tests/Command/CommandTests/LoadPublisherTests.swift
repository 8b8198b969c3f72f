import Basics
import Glibc
import PusherHTTP
import TestSupport
import Testing

@testable import CommandKit
@testable import MatrixCommands
@testable import PusherCommands

@Suite(.overSockets)
struct LoadPublisherTests {
    /// A server that answers once it has read a request's head, and stays until the client leaves.
    private func server(answering status: String, after microseconds: UInt32 = 0) -> SocketServer {
        SocketServer { peer in
            _ = peer.readHead()
            usleep(microseconds)  // the server's own slowness
            peer.write("HTTP/1.1 \(status)\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            while !peer.read().isEmpty {}
        }
    }

    /// Publishes ten events in a tenth of a second.
    private func publish(to server: SocketServer, drain: Duration = .seconds(30)) async throws -> LoadCounts {
        let tally = LoadTally(subscriptions: 1)
        let api = PusherHTTPClient(
            appID: "1", key: "k", secret: "s", host: "127.0.0.1", port: server.port, useTLS: false, proxy: "")
        let start = MonotonicInstant.now
        try await LoadPublisher(api: api, plan: LoadPlan(), tally: tally, channels: [0]).publish(
            run: tally.run, by: SendSchedule(start: start, rate: 100), end: start + .milliseconds(100),
            limit: start + .milliseconds(100) + drain)
        return tally.counts
    }

    @Test func anAPIThatNeverAnswersIsNotWaitedForBeyondTheEnd() async throws {
        let clock = ContinuousClock()
        let start = clock.now
        let counts = try await publish(
            to: SocketServer { peer in while !peer.read().isEmpty {} }, drain: .milliseconds(100))
        #expect(clock.now - start < .seconds(20))  // less than the 30 s of a request
        #expect(counts.published == 0)
        #expect(counts.failed + counts.unsent == 10)
        #expect(counts.errors <= 1)
    }

    @Test func eventsThatAreDueDuringARequestCountAsLate() async throws {
        let counts = try await publish(to: server(answering: "200 OK", after: 50_000))
        #expect(counts.published == 10)
        #expect(counts.expected == 10)
        #expect(counts.delay.max >= 20_000)
    }

    @Test func aRequestThatIsNotAcceptedEndsTheTest() async throws {
        await #expect(throws: PusherHTTPError.self) {
            try await publish(to: server(answering: "401 Unauthorized"))
        }
    }
}
