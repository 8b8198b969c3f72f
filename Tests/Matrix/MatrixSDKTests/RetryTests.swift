import Basics
import Foundation
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct RetryTests {
    @Test func aRateLimitIsWaitedForAndThenPassed() async throws {
        let server = try await FakeHomeserver.start()
        let answers = Array(repeating: FakeAnswer.limited(milliseconds: 15), count: 10)
        server.on("POST", "v3/createRoom", answers + [.json(#"{"room_id":"!r"}"#)])
        let start = ContinuousClock.now
        #expect(try await MXRestClient.make(server).createRoom(parameters: MXRoomCreationParameters()) == "!r")
        #expect(server.requests.count == 11 && ContinuousClock.now - start >= .milliseconds(150))
    }

    @Test func aRateLimitBeyondTheBoundIsTheAnswer() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .limited(milliseconds: 21_000))
        await #expect {
            try await MXRestClient.make(server).joinedRooms()
        } throws: { error in
            let error = error as? MXError
            return error?.errcode == kMXErrCodeStringLimitExceeded && error?.retryAfter == .seconds(21)
        }
        #expect(server.requests.count == 1)
    }

    @Test func aProxyMayLimitTheRateToo() async throws {
        let server = try await FakeHomeserver.start()
        server.on(
            "GET", "v3/joined_rooms",
            [.page(429).with("Retry-After", "0"), .page(429).with("Retry-After", "60")])
        await #expect {
            try await MXRestClient.make(server).joinedRooms()
        } throws: { ($0 as? MatrixError)?.code == .http(status: 429) }
        #expect(server.requests.count == 2)
    }

    @Test func readingSurvivesConnectionsThatBreak() async throws {
        let server = try await FakeHomeserver.start()
        let rooms = FakeAnswer.json(#"{"joined_rooms":["!a"]}"#)
        server.on("GET", "v3/joined_rooms", [.drop, rooms.with(.cut(after: 5)), rooms])
        #expect(try await MXRestClient.make(server).joinedRooms() == ["!a"])
        #expect(server.requests.count == 3)
    }

    @Test func readingGivesUpAfterSomeTries() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", .drop)
        await #expect {
            try await MXRestClient.make(server).joinedRooms()
        } throws: { ($0 as? MatrixError)?.code == .network }
        #expect(server.requests.count == MXRestClientOptions().connectionTries)
    }

    @Test func whatMayNotBeRepeatedIsSentOnce() async throws {
        let server = try await FakeHomeserver.start()
        server.on("POST", "v3/createRoom", .drop)
        server.on("PUT", "v3/rooms/*/state/*/*", .drop)
        let client = MXRestClient.make(server)
        await #expect {
            try await client.createRoom(parameters: MXRoomCreationParameters())
        } throws: { ($0 as? MatrixError)?.code == .network }
        await #expect {
            try await client.sendStateEvent(toRoom: "!r", eventType: .roomName, content: [:], stateKey: "k")
        } throws: { ($0 as? MatrixError)?.code == .network }
        #expect(server.requests.count == 2)
    }

    @Test func aSyncIsTriedOnce() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/sync", .drop)
        await #expect {
            try await MXRestClient.make(server).sync()
        } throws: { ($0 as? MatrixError)?.code == .network }
        #expect(server.requests.count == 1)
    }

    @Test func errorsOfTheServerAreNotTriedAgain() async throws {
        let server = try await FakeHomeserver.start()
        server.on("GET", "v3/joined_rooms", [.page(502), .json(#"{"joined_rooms":[]}"#)])
        await #expect(throws: MatrixError.self) { try await MXRestClient.make(server).joinedRooms() }
        #expect(server.requests.count == 1)
    }

    /// A homeserver that remembers transactions and loses its answers.
    @Test(arguments: [FakeAnswer.Fault.drop, .cut(after: 3)])
    func aLostAnswerMakesNoSecondMessage(fault: FakeAnswer.Fault) async throws {
        let server = try await FakeHomeserver.start()
        let messages = Lock<[String: String]>([:])
        let losses = Lock(2)
        server.on("PUT", "v3/rooms/*/send/*/*") { request in
            let id = messages.withLock { messages in
                let transaction = request.path.last ?? ""
                let id = messages[transaction] ?? "$\(messages.count)"
                messages[transaction] = id
                return id
            }
            let isLost = losses.withLock { left in
                left -= 1
                return left >= 0
            }
            let answer = FakeAnswer.json(#"{"event_id":"\#(id)"}"#)
            return isLost ? answer.with(fault) : answer
        }
        let id = try await MXRestClient.make(server).sendTextMessage(toRoom: "!r", text: "once")
        #expect(id == "$0" && messages.withLock { $0.count } == 1)
        let requests = server.requestsProper
        #expect(requests.count == 3 && Set(requests.map(\.rawPath)).count == 1)
    }

    @Test func aRequestThatNeverLeftMayBeRepeated() {
        let policy = RetryMachine.Policy(
            rateLimitBound: .seconds(20), connectionTries: 3, connectionPause: .seconds(3))
        var machine = RetryMachine(policy, isRepeatable: false, now: .start)
        #expect(machine.connectionFailed(neverLeft: true, random: 0.5) == .retry(after: .milliseconds(1500)))
        #expect(machine.connectionFailed(neverLeft: false, random: 0.5) == .giveUp)
        var other = RetryMachine(policy, isRepeatable: true, now: .start)
        #expect(other.connectionFailed(neverLeft: false, random: 0) == .retry(after: .zero))
        #expect(other.connectionFailed(neverLeft: false, random: 1) == .retry(after: .seconds(3)))
        #expect(other.connectionFailed(neverLeft: false, random: 0) == .giveUp)
    }

    @Test func aRateLimitCountsFromTheStartOfTheOperation() {
        let policy = RetryMachine.Policy(
            rateLimitBound: .seconds(20), connectionTries: 3, connectionPause: .seconds(3))
        var machine = RetryMachine(policy, isRepeatable: false, now: .at(0))
        #expect(machine.rateLimited(retryAfter: .zero, now: .at(1)) == .retry(after: .milliseconds(10)))
        #expect(machine.rateLimited(retryAfter: nil, now: .at(1)) == .retry(after: .seconds(1)))
        #expect(machine.rateLimited(retryAfter: .seconds(5), now: .at(15)) == .retry(after: .seconds(5)))
        #expect(machine.rateLimited(retryAfter: .seconds(5), now: .at(15.1)) == .giveUp)
    }

    @Test func aServerThatLimitsWithoutAWaitIsAskedLessAndLess() {
        let policy = RetryMachine.Policy(
            rateLimitBound: .seconds(20), connectionTries: 3, connectionPause: .seconds(3))
        var machine = RetryMachine(policy, isRepeatable: true, now: .start)
        var (now, requests) = (MonotonicInstant.start, 1)
        while case .retry(let wait) = machine.rateLimited(retryAfter: .zero, now: now) {
            now = now + wait
            requests += 1
        }
        #expect((20...30).contains(requests))
    }
}
