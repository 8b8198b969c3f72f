import Basics
import JSONBytes
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// The connection in the Pusher protocol.
struct ClientConnectionTests {
    private let reader = EventReader(.sequence, eventName: nil, channelName: nil)

    @Test func connectedMeansThatTheHandshakeIsDone() {
        var client = ClientScript()
        client.machine.connect(now: client.now)
        #expect(client.take() == ["open 1 wss", "disconnected → connecting"])
        #expect(client.machine.socketID == nil)
        client.establish(socketID: "123.456")
        #expect(client.take() == ["connecting → connected"])
        #expect(client.machine.socketID == SocketID("123.456"))
        #expect(client.machine.nextDeadline == client.now + .seconds(120))
    }

    @Test func movingDoesNotTakeBackADisconnect() {
        var client = ClientScript.connected()
        client.machine.disconnect(now: client.now)
        client.machine.move(to: Endpoint(host: "other", key: "k", clientVersion: "1"), now: client.now)
        #expect(client.take() == ["close 1", "connected → disconnecting"])
        client.close(1000)
        #expect(client.take() == ["disconnecting → disconnected"])
    }

    @Test(
        arguments: [
            ("", 120), (#","activity_timeout":0"#, 120), (#","activity_timeout":30"#, 30),
            (#","activity_timeout":7.5"#, 7.5), (#","activity_timeout":"30""#, 30), (#","activity_timeout":null"#, 120),
            (#","activity_timeout":1"#, 1), (#","activity_timeout":-1"#, 120), (#","activity_timeout":1e300"#, 120),
            (#","activity_timeout":"inf""#, 120), (#","activity_timeout":"nan""#, 120),
            (#","activity_timeout":[]"#, 120),
        ] as [(String, Double)])
    func theServersActivityTimeoutCounts(member: String, seconds: Double) {
        var client = ClientScript()
        client.machine.connect(now: client.now)
        _ = client.take()
        client.receive(
            #"{"event":"pusher:connection_established","data":\#(JSONString.quoted(#"{"socket_id":"1.1"\#(member)}"#))}"#
        )
        #expect(client.take() == ["connecting → connected"])
        #expect(client.machine.nextDeadline == client.now + .seconds(seconds))
    }

    /// A server must not make the client ping as fast as it can.
    @Test(arguments: ["1e-6", "0.001", "0.999", #""0.1""#])
    func theServersActivityTimeoutHasAFloor(value: String) {
        var client = ClientScript()
        client.machine.connect(now: client.now)
        _ = client.take()
        let data = #"{"socket_id":"1.1","activity_timeout":\#(value)}"#
        let handshake = #"{"event":"pusher:connection_established","data":\#(JSONString.quoted(data))}"#
        client.receive(handshake)
        let told = client.take()
        #expect(told.first == "connecting → connected")
        #expect(told.last?.hasPrefix("error the server asks for a ping after ") == true)
        #expect(told.last?.hasSuffix(" s of silence; the client waits 1 s, the least it accepts") == true)
        #expect(client.machine.nextDeadline == client.now + .seconds(1))
        // One report is enough.
        client.close(1006)
        client.pass(.seconds(60))
        _ = client.take()
        client.receive(handshake)
        #expect(client.take() == ["connecting → connected"])
    }

    /// Everything derived from a socket ID would be as large.
    @Test(arguments: [129, 60_000, 5 << 20])
    func aSocketIDHasABound(length: Int) {
        var client = ClientScript()
        client.machine.connect(now: client.now)
        _ = client.take()
        let data = #"{"socket_id":"1.\#(String(repeating: "1", count: length - 2))"}"#
        client.receive(#"{"event":"pusher:connection_established","data":\#(JSONString.quoted(data))}"#)
        #expect(client.machine.socketID == nil)
        #expect(client.take().contains { $0.hasPrefix("error ") && $0.utf8.count < 500 })
    }

    @Test func theApplicationsOwnActivityTimeoutHasNoFloor() {
        var client = ClientScript { $0.connection.activityTimeout = .milliseconds(100) }
        client.connect()
        #expect(client.machine.nextDeadline == client.now + .milliseconds(100))
    }

    @Test(arguments: ["nonsense", #"{"event":"pusher:error","data":{"message":"no"}}"#])
    func errorsThatAServerCausesAreReportedAtABoundedRate(frame: String) throws {
        var client = ClientScript.connected()
        var errors: [PusherError] = []
        func take() {
            for case .error(let error) in client.machine.takeNotices() { errors.append(error) }
        }
        for _ in 0..<1000 { client.receive(frame) }
        take()
        #expect(errors.count == 20)
        #expect(errors.allSatisfy { $0.omittedCount == 0 })
        #expect(client.machine.nextDeadline == client.now + .seconds(1))
        client.pass(.seconds(1))
        take()
        #expect(errors.count == 21)
        #expect(errors.last?.omittedCount == 979)
        #expect(errors.last?.description.hasSuffix("; 979 more errors of this kind are not reported") == true)
        // No loss is silent, nor reported twice.
        for _ in 0..<50 {
            for _ in 0..<10 { client.receive(frame) }
            client.pass(.milliseconds(500))
        }
        client.pass(.seconds(5))
        take()
        #expect(errors.reduce(0) { $0 + 1 + $1.omittedCount } == 1500)
        #expect(errors.count < 60)
        client.pass(.seconds(60))
        take()
        client.receive(frame)
        take()
        #expect(errors.last?.omittedCount == 0)
    }

    /// A server may send any number of names of any size.
    @Test func namesThatNoChannelCanHaveAreReportedOnce() throws {
        var client = ClientScript.connected()
        let long = String(repeating: "x", count: 1_000_000)
        for number in 0..<4 { client.receive(#"{"event":"e","channel":"\#(number)\#(long)"}"#) }
        for name in ["not a name", "", "#other", "ü"] { client.receive(#"{"event":"e","channel":"\#(name)"}"#) }
        let told = client.take()
        #expect(told.count == 1)
        #expect(
            told.first?.hasSuffix("ignored an event of a channel whose name is not valid; others are not reported")
                == true)
        #expect(told.allSatisfy { $0.utf8.count < 500 })
    }

    @Test func unknownChannelsAreReportedUpToABoundInBytes() {
        var client = ClientScript.connected()
        let name = String(repeating: "x", count: 150)
        for number in 0..<8000 { client.receive(#"{"event":"e","channel":"\#(name)\#(number)"}"#) }
        let told = client.take()
        client.pass(.seconds(1))
        let rest = client.take()
        #expect(told.count == 20)
        #expect(
            rest.last?.contains("ignored events of too many channels that are not subscribed; others are not reported")
                == true)
        client.receive(#"{"event":"e","channel":"one-more"}"#)
        #expect(client.take() == [])
        client.close(1006)
        client.pass(.seconds(60))
        _ = client.take()
        client.establish(socketID: "2.2")
        _ = client.take()
        client.receive(#"{"event":"e","channel":"one-more"}"#)
        #expect(client.take().count == 1)
    }

    @Test(arguments: [
        #"{"event":"foo"}"#, "nonsense", #"{"event":"pusher:connection_established"}"#,
        #"{"event":"pusher:connection_established","data":"{\"socket_id\":\"x\"}"}"#,
        #"{"event":"pusher:error","data":{"message":"m","code":null}}"#,
    ])
    func anythingElseFirstIsAFailedHandshake(frame: String) throws {
        var client = ClientScript()
        client.machine.connect(now: client.now)
        _ = client.take()
        client.receive(frame)
        let lines = client.takeReports()
        #expect(lines.first == "drop 1")
        #expect(lines.last == "connecting → reconnecting")
        #expect(lines.contains { $0.hasPrefix("error the server did not open with pusher:connection_established") })
        #expect(lines.count == 3)
    }

    @Test func aTimeOutSaysHowFarTheConnectionGot() {
        func error(after advance: (inout ClientScript) -> Void) -> String? {
            var client = ClientScript()
            client.machine.connect(now: client.now)
            _ = client.take()
            advance(&client)
            client.pass(.seconds(15))
            return client.take().first { $0.hasPrefix("error") }
        }
        let id = ConnectionMachine.TransportID(number: 1)
        let times = ConnectionTimes(address: "127.0.0.1", nameLookup: .zero, connect: .milliseconds(1), tls: nil)
        #expect(
            error { $0.machine.transportReached(id, times) }?
                .contains("h:443 accepted the connection but did not answer the WebSocket handshake in time") == true)
        #expect(
            error {
                $0.machine.transportReached(id, times)
                $0.machine.transportOpened(id, now: $0.now)
            }?.contains("h:443 opened the WebSocket but did not start the Pusher protocol in time") == true)
    }

    @Test func silenceInsteadOfAHandshakeTimesOut() {
        var client = ClientScript()
        client.machine.connect(now: client.now)
        _ = client.take()
        client.pass(.seconds(15))
        #expect(
            client.take() == [
                "drop 1", "error connecting to h:443 took longer than the connect time-out; will retry at once",
                "connecting → reconnecting",
            ])
    }

    // MARK: Close codes

    @Test(
        arguments: [
            (4001, "connected → disconnected"), (4002, "connected → disconnected"), (4010, "connected → disconnected"),
            (4300, "connected → disconnected"), (4100, "connected → reconnecting"), (4200, "connected → reconnecting"),
            (1000, "connected → reconnecting"), (1006, "connected → reconnecting"),
        ] as [(UInt16, String)])
    func theRangeOfACloseCodeDecides(code: UInt16, expected: String) {
        var client = ClientScript.connected()
        client.close(code)
        let lines = client.take()
        #expect(lines.last == expected)
        #expect(lines.count { $0.hasPrefix("error") } == 1)
    }

    @Test func overCapacityWaitsAtLeastASecond() {
        var client = ClientScript.connected()
        client.close(4100)
        #expect(client.machine.nextDeadline == client.now + .seconds(1))
    }

    @Test func tlsOnlySwitchesToTLSOnce() {
        var client = ClientScript()
        client.machine = ClientMachine(
            endpoint: Endpoint(host: "h", key: "k", usesTLS: false, clientVersion: "1"),
            configuration: ClientMachine.Configuration(), seed: 1)
        client.machine.connect(now: client.now)
        #expect(client.take().first == "open 1 ws")
        client.close(4000)
        _ = client.take()
        client.pass(.zero)
        #expect(client.take().first == "open 2 wss")
        client.close(4000)
        #expect(client.take().last == "connecting → disconnected")
    }

    @Test func anErrorBeforeTheHandshakeDecidesAsACloseCodeWould() {
        var client = ClientScript()
        client.machine.connect(now: client.now)
        _ = client.take()
        client.receive(#"{"event":"pusher:error","data":{"code":4001,"message":"no such app"}}"#)
        #expect(
            client.takeReports() == [
                "drop 1",
                "error the server refused the connection: the application does not exist: wrong key or wrong cluster (“no such app”) (code 4001)",
                "connecting → disconnected",
            ])
        client.close(4001)
        #expect(client.take() == [])
    }

    @Test func anErrorWithTheCloseItAnnouncesIsReportedOnce() {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":{"code":4009,"message":"unauthorized"}}"#)
        client.close(4009)
        #expect(
            client.takeReports() == [
                "error the server closed the connection: the connection is unauthorized (“unauthorized”) (code 4009)",
                "connected → disconnected",
            ])
    }

    @Test func anErrorThatAnnouncesARetryIsReportedWithIt() {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":{"code":4201,"message":"Pong reply not received in time"}}"#)
        #expect(client.takeReports() == [])
        client.close(4201)
        #expect(client.take().first?.hasSuffix("(code 4201); will retry at once") == true)
    }

    @Test func anErrorWithoutTheCloseItSeemsToAnnounceIsReportedSoon() {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":{"code":4200,"message":"Invalid message format"}}"#)
        #expect(client.takeReports() == [])
        client.pass(.seconds(1))
        #expect(client.takeReports() == ["error the server reports: Invalid message format (code 4200)"])
        client.close(4200)  // late: it adds no news
        #expect(client.take() == ["connected → reconnecting"])
    }

    @Test func anErrorAbove4299IsNotToldAgainByItsClose() {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":{"code":4305,"message":"enough"}}"#)
        client.close(4305)
        let lines = client.takeReports()
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix("error the server closed the connection: ") == true)
        #expect(lines.first?.hasSuffix("(“enough”) (code 4305)") == true)
        #expect(lines.last == "connected → disconnected")
    }

    /// These codes are for errors after which the connection continues.
    @Test func anErrorAbove4299DoesNotCountIfTheConnectionThenBreaks() {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":{"code":4301,"message":"slow down"}}"#)
        client.close(1006)
        let lines = client.takeReports()
        #expect(lines.first == "error the server reports: slow down (code 4301)")
        #expect(lines.count { $0.hasPrefix("error") } == 2)
        #expect(lines.last == "connected → reconnecting")
    }

    @Test func anAnnouncedCodeCountsIfTheConnectionThenJustBreaks() {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":"{\"code\":4001,\"message\":\"gone\"}"}"#)
        client.close(1006)
        #expect(client.take().last == "connected → disconnected")
    }

    @Test func anErrorOnAConnectionThatGoesOnChangesNothing() {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":{"code":4200,"message":"Invalid message format"}}"#)
        client.receive(#"{"event":"pusher:pong"}"#)
        #expect(client.machine.connectionState == .connected)
        client.close(1006)
        #expect(client.take().last == "connected → reconnecting")
    }

    @Test(arguments: [
        (#"{"code":null,"message":"m"}"#, "error the server reports: m"),
        (#"{"message":"m"}"#, "error the server reports: m"),
        (#"{}"#, "error the server reports: no reason given"),
        (#""{\"code\":500,\"message\":\"text\"}""#, "error the server reports: text (code 500)"),
        (#"{"code":"500","message":"m"}"#, "error the server reports: m (code 500)"),
        (#""x""#, "error the server reports: no reason given"),
    ])
    func everyShapeOfErrorIsReported(data: String, expected: String) {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":\#(data)}"#)
        #expect(client.takeReports() == [expected])
        #expect(client.machine.connectionState == .connected)
    }

    @Test func aHopelessRequestIsNotRepeated() {
        var client = ClientScript()
        client.machine.connect(now: client.now)
        _ = client.take()
        client.close(1006, error: TransportError(.invalidRequest, "the URL cannot be used"))
        #expect(client.take() == ["error the URL cannot be used", "connecting → disconnected"])
    }

    // MARK: Keeping alive

    @Test func pingsAreAnsweredInTheirOwnForm() {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:ping","data":"{}"}"#)
        #expect(client.take() == ["send pong", "event pusher:ping"])
    }

    @Test func pingsThatComeTogetherAreAnsweredAndToldOnce() {
        var client = ClientScript.connected()
        let ping = #"{"event":"pusher:ping","data":"{}"}"#
        client.receive(ping, ping, ping)
        #expect(client.take() == ["send pong", "event pusher:ping"])
        client.receive(ping)
        #expect(client.take() == ["send pong", "event pusher:ping"])
    }

    @Test func silenceIsPingedAndAMissingPongDropsTheSocket() {
        var client = ClientScript.connected()
        client.pass(.seconds(120))
        #expect(client.take() == ["send ping"])
        client.now = client.now + .seconds(2)
        client.receive(#"{"event":"pusher:pong"}"#)
        #expect(client.take() == ["ping answered after 2.0 s"])
        client.pass(.seconds(120))
        #expect(client.take() == ["send ping"])
        client.pass(.seconds(30))
        #expect(
            client.take() == [
                "drop 1", "error h:443 did not answer a ping in time (code 1006); will retry at once",
                "connected → reconnecting",
            ])
        client.pass(.zero)
        #expect(client.take().first == "open 2 wss")
    }

    @Test func whenTheNetworkIsLostAPingFindsOutWhetherTheConnectionLives() {
        var client = ClientScript.connected()
        client.machine.networkLost(now: client.now)
        #expect(client.take() == ["send ping"])
        client.pass(.seconds(30))
        #expect(client.take().first == "drop 1")
    }

    @Test func framesOfUnknownChannelsProveThePeerAlive() {
        var client = ClientScript.connected()
        client.now = client.now + .seconds(100)
        client.receive(#"{"event":"e","channel":"nobody","data":""}"#)
        _ = client.take()
        client.pass(.seconds(119))
        #expect(client.take() == [])
    }

    @Test func aPauseInReadingWaitsForTheHandshake() {
        var client = ClientScript()
        client.hold(reader)
        client.machine.connect(now: client.now)
        #expect(client.take() == ["open 1 wss", "disconnected → connecting"])
        client.establish(socketID: "1.1")
        #expect(client.take() == ["pause", "connecting → connected"])
        client.hold(reader)
        client.release(reader)
        #expect(client.take() == [])
        client.release(reader)
        #expect(client.take() == ["resume"])
    }

    /// The proof that the server is alive may be waiting to be read.
    @Test func silenceIsNotHeldAgainstTheServerWhileNothingIsRead() {
        var client = ClientScript.connected()
        client.hold(reader)
        #expect(client.take() == ["pause"])
        client.pass(.seconds(1000))
        #expect(!client.take().contains { $0.hasPrefix("send") || $0.hasPrefix("drop") })
        #expect(client.machine.nextDeadline == nil)
        client.release(reader)
        client.pass(.seconds(119))
        #expect(client.take().first == "resume")
        client.pass(.seconds(1))
        #expect(client.take() == ["send ping"])
    }

    @Test func anAnswerToAPingIsNotOverdueWhileNothingIsRead() {
        var client = ClientScript.connected()
        client.pass(.seconds(120))
        #expect(client.take() == ["send ping"])
        client.hold(reader)
        client.pass(.seconds(1000))
        client.release(reader)
        client.pass(.seconds(30))
        #expect(!client.take().contains { $0.hasPrefix("send") || $0.hasPrefix("drop") })
        #expect(client.machine.connectionState == .connected)
    }

    @Test func noPingIsSentWhileItsAnswerWouldNotBeRead() {
        var client = ClientScript.connected()
        client.hold(reader)
        _ = client.take()
        let isUnderWay = client.machine.ping(now: client.now)
        #expect(!isUnderWay)
        client.machine.networkLost(now: client.now)
        client.machine.networkReturned(now: client.now)
        #expect(client.take() == [])
    }

    // MARK: Bad input

    @Test(arguments: [
        ("nonsense", "error ignored a message of 8 bytes: it is not JSON"),
        ("[]", "error ignored a message of 2 bytes: it is not a JSON object"),
        (#"{"data":"secret"}"#, "error ignored a message of 17 bytes: it has no event"),
        (
            #"{"event":"e","channel":"nobody","data":"secret"}"#,
            "error channel nobody: ignored an event of a channel that is not subscribed"
        ),
        (
            #"{"event":"pusher_internal:member_added","data":"{}"}"#,
            "error ignored pusher_internal:member_added without a channel"
        ),
        (
            #"{"event":"pusher_internal:subscription_succeeded"}"#,
            "error ignored pusher_internal:subscription_succeeded without a channel"
        ),
    ])
    func badFramesAreReportedOnceAndDisturbNothing(frame: String, expected: String) throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.succeed("c")
        _ = client.take()
        client.receive(frame, #"{"event":"e","channel":"c","data":"after"}"#)
        #expect(client.take() == [expected, "event e c after"])
        #expect(client.machine.connectionState == .connected)
    }

    @Test func binaryMessagesAreReportedAndIgnored() {
        var client = ClientScript.connected()
        client.receiveBinary([1, 2, 3])
        #expect(client.take() == ["error ignored a binary message of 3 bytes, which the protocol does not have"])
    }

    @Test func anUnknownChannelIsReportedOnceAConnection() {
        var client = ClientScript.connected()
        for _ in 0..<3 { client.receive(#"{"event":"e","channel":"nobody"}"#) }
        #expect(client.take().count == 1)
    }

    /// A publisher on a channel has no authority over the connection.
    @Test(arguments: [
        ("pusher:connection_established", #"{"socket_id":"6.6","activity_timeout":1}"#), ("pusher:ping", "{}"),
        ("pusher:pong", "{}"), ("pusher:signin_success", #"{"user_data":"{\"id\":\"mallory\"}"}"#),
        ("pusher:anything", "{}"),
    ])
    func anEventOfAChannelIsNotOneOfTheConnection(event: String, data: String) throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.succeed("c")
        client.pass(.seconds(120))  // a ping is pending
        client.machine.signIn(now: client.now)
        _ = client.take()
        client.answerUser(.success(UserAuthAnswer(auth: "k:s", userData: #"{"id":"me"}"#)))
        _ = client.take()
        client.receive(#"{"event":"\#(event)","channel":"c","data":\#(JSONString.quoted(data))}"#)
        #expect(client.take() == ["event \(event) c \(data)"])
        #expect(client.machine.socketID == SocketID("1.1"))
        #expect(client.machine.signedInUser == nil)
    }

    @Test func watchlistChangesOfAChannelAreNone() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.succeed("c")
        _ = client.take()
        client.receive(
            #"{"event":"pusher_internal:watchlist_events","channel":"c","data":"#
                + #""{\"events\":[{\"name\":\"online\",\"user_ids\":[\"u2\"]}]}"}"#)
        #expect(client.take() == [])
        #expect(client.machine.onlineUsers.isEmpty)
    }

    /// An error that names a channel concerns only that channel, not the connection's end.
    @Test func anErrorOfAChannelDecidesNothingForTheConnection() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        client.succeed("c")
        _ = client.take()
        client.receive(#"{"event":"pusher:error","channel":"c","data":{"code":4001,"message":"gone"}}"#)
        #expect(client.takeReports() == ["error channel c: the server reports: gone (code 4001)"])
        client.close(1006)
        #expect(client.take().last == "connected → reconnecting")
    }

    @Test func internalEventsOfTheFutureAreNotShown() {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher_internal:something_new","data":"{}"}"#)
        #expect(client.take() == [])
    }

    @Test func nothingHappensAfterShutDown() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("c")
        _ = client.take()
        client.machine.shutDown(now: client.now)
        #expect(client.take().first == "drop 1")
        client.machine.connect(now: client.now)
        client.pass(.seconds(1000))
        #expect(client.take() == [])
        #expect(client.machine.nextDeadline == nil)
    }
}
