import Basics
import JSONBytes
import PusherProtocol
import PusherProtocolTestSupport
import Realtime
import TestSupport
import Testing
import Transport

/// When the machine reconnects, waits or gives up.
struct ConnectionRuleTests {
    // MARK: The application's requests

    @Test(.regression("A close that came after disconnect() began a reconnect."))
    func aLateCloseAfterDisconnectMakesNoAttempt() {
        var client = ClientScript.connected()
        client.machine.disconnect(now: client.now)
        client.close(1006)
        #expect(client.take() == ["close 1", "connected → disconnecting", "disconnecting → disconnected"])
        for code: UInt16 in [1006, 4200] { client.close(code) }
        #expect(client.idle() == [])
        #expect(client.machine.connectionState == .disconnected)
    }

    @Test(.regression("An attempt under way connected after disconnect()."))
    func disconnectCancelsARunningAttempt() {
        var client = ClientScript()
        client.machine.connect(now: client.now)
        _ = client.take()
        client.machine.disconnect(now: client.now)
        client.establish(socketID: "1.1")
        #expect(client.take() == ["drop 1", "connecting → disconnected"])
        #expect(client.idle() == [])
    }

    @Test(.regression("A retry that was waited for connected after disconnect()."))
    func disconnectCancelsAPendingRetry() {
        var client = ClientScript.connected()
        client.close(4100)
        #expect(client.take().last == "connected → reconnecting")
        client.machine.disconnect(now: client.now)
        #expect(client.take() == ["reconnecting → disconnected"])
        #expect(client.idle() == [])
    }

    // MARK: Close codes

    @Test(.regression("Refusals for good were retried for ever."))
    func codes4002And4010To4099AreNotRetried() {
        for code: UInt16 in [4002] + (4010...4099) {
            var client = ClientScript.connected()
            client.close(code)
            #expect(client.take().last == "connected → disconnected", "\(code)")
            #expect(client.idle() == [], "\(code)")
        }
    }

    @Test(.regression("A server that asked for a pause was asked again at once."))
    func codes4100To4199WaitAtLeastASecond() {
        for code: UInt16 in 4100...4199 {
            for policy in [ReconnectPolicy.quadratic(), .exponential(base: .milliseconds(1))] {
                var client = ClientScript.connected { $0.connection.reconnectPolicy = policy }
                client.close(code)
                _ = client.take()
                client.pass(.milliseconds(999))
                #expect(client.take() == [], "\(code)")
                #expect(client.idle().first == "open 2 wss", "\(code)")
            }
        }
    }

    @Test(.regression("Close codes counted before the handshake only."))
    func closeCodesAfterTheHandshakeAreHonoured() {
        let waits: [(code: UInt16, wait: Duration?)] = [
            (1000, .zero), (1006, .zero), (4000, nil), (4001, nil), (4100, .seconds(1)), (4199, .seconds(1)),
            (4200, .zero), (4299, .zero), (4300, nil),
        ]
        for (code, wait) in waits {
            var client = ClientScript.connected()
            client.close(code)
            #expect(client.take().last == "connected → \(wait == nil ? "disconnected" : "reconnecting")", "\(code)")
            #expect(client.machine.nextDeadline == wait.map { client.now + $0 }, "\(code)")
        }
        var plain = ClientScript()
        plain.machine = ClientMachine(
            endpoint: Endpoint(host: "h", key: "k", usesTLS: false, clientVersion: "1"), configuration: .init(), seed: 1
        )
        plain.connect()
        plain.close(4000)
        _ = plain.take()
        plain.pass(.zero)
        #expect(plain.take().first == "open 2 wss")
    }

    @Test(.regression("A wrong key that pusher:error named was retried for ever."))
    func code4001InAnErrorEventStopsRetries() {
        let frame = #"{"event":"pusher:error","data":{"code":4001,"message":"no such app"}}"#
        var early = ClientScript()
        early.machine.connect(now: early.now)
        _ = early.take()
        early.receive(frame)
        #expect(early.take().last == "connecting → disconnected")
        early.close(1006)
        #expect(early.idle() == [])

        var late = ClientScript.connected()
        late.receive(frame)
        late.close(1006)  // the server hangs up without a close frame
        #expect(late.take().last == "connected → disconnected")
        #expect(late.idle() == [])
    }

    @Test(
        .regression("One failure was told as several errors, one inside the other."),
        arguments: [
            #"{"code":4001,"message":"no such app"}"#, JSONString.quoted(#"{"code":4001,"message":"no such app"}"#),
        ])
    func oneFailureIsOneFlatError(data: String) {
        var client = ClientScript.connected()
        client.receive(#"{"event":"pusher:error","data":\#(data)}"#)
        client.close(4001)
        let errors = client.takeErrors()
        #expect(errors.count == 1)
        #expect(errors.first?.code == 4001)
        #expect(errors.first?.message.contains("no such app") == true)

        var refused = ClientScript()
        refused.machine.connect(now: refused.now)
        _ = refused.take()
        refused.receive(#"{"event":"pusher:error","data":\#(data)}"#)
        refused.close(4001)
        let refusals = refused.takeErrors()
        #expect(refusals.map(\.code) == [4001])
        #expect(refusals.first?.kind == .closedByServer)
        #expect(refusals.first?.willRetry == false)
    }

    // MARK: Keeping alive

    @Test(.regression("The server's pusher:ping was not answered."))
    func pusherPingIsAnswered() {
        var client = ClientScript.connected()
        for data in ["{}", #""{}""#, #""""#, "null"] {
            client.receive(#"{"event":"pusher:ping","data":\#(data)}"#)
            #expect(client.take().first == "send pong")
        }
        client.receive(#"{"event":"pusher:ping"}"#)
        guard case .send(_, let frame)? = client.machine.takeSorted().orders.first else {
            Issue.record("no answer")
            return
        }
        #expect(frame.text == #"{"event":"pusher:pong","data":{}}"#)
    }

    @Test(.regression("Events of unknown channels did not count, and a healthy connection was given up."))
    func framesOfUnknownChannelsCountAsActivity() {
        var client = ClientScript.connected()
        let frame = #"{"event":"e","channel":"nobody","data":""}"#
        client.pass(.seconds(119))
        client.receive(frame)
        _ = client.take()
        client.pass(.seconds(119))
        #expect(client.take() == [])
        client.pass(.seconds(1))
        #expect(client.take() == ["send ping"])
        client.pass(.seconds(29))
        client.receive(frame)  // instead of a pong
        client.pass(.seconds(1))
        #expect(client.take() == [])
        #expect(client.machine.connectionState == .connected)
    }

    /// Sending proves nothing: TCP accepts data for a long time.
    @Test(.regression("A client that kept sending never noticed that its connection was dead."))
    func aHalfOpenConnectionIsNoticedWhileWeSend() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        client.succeed("private-x")
        _ = client.take()
        var lines: [String] = []
        for _ in 0..<15 {
            client.pass(.seconds(10))
            lines += client.take().filter { !$0.hasPrefix("send client-") }
            try client.machine.trigger("client-typing", data: "1", on: id, now: client.now)
        }
        #expect(
            lines == [
                "send ping", "drop 1", "error h:443 did not answer a ping in time (code 1006); will retry at once",
                "connected → reconnecting",
            ])
    }

    // MARK: Retries

    @Test(
        .regression("The client gave up for good after a few attempts."),
        arguments: [ReconnectPolicy.quadratic(), .exponential()])
    func theClientNeverGivesUpForEverByItself(policy: ReconnectPolicy) {
        var client = ClientScript { $0.connection.reconnectPolicy = policy }
        client.machine.connect(now: client.now)
        _ = client.take()
        for number in 1...1000 {
            switch number % 4 {
            case 0: client.close(1006, error: TransportError(.couldNotConnect, "no route"))
            case 1: client.receive("nonsense")
            case 2: client.close(4100)
            default: client.pass(.seconds(15))
            }
            #expect(client.machine.connectionState == .reconnecting)
            guard let deadline = client.machine.nextDeadline else { break }
            #expect(deadline - client.now <= .seconds(120))
            client.pass(max(deadline - client.now, .zero))
            _ = client.take()
        }
        client.establish(socketID: "1.1")
        #expect(client.machine.connectionState == .connected)
    }

    @Test(.regression("Attempts were counted over the whole life of the client."))
    func attemptsAreResetAtSuccessAndAtConnect() {
        var client = ClientScript { $0.connection.reconnectAttemptsMax = 2 }
        func fail() {
            client.close(1006)
            if let deadline = client.machine.nextDeadline { client.pass(deadline - client.now) }
            _ = client.take()
        }
        client.machine.connect(now: client.now)
        _ = client.take()
        for _ in 0..<5 {
            for _ in 0..<2 { fail() }
            #expect(client.machine.reconnectAttempts == 2)
            client.establish(socketID: "1.1")
            #expect(client.machine.reconnectAttempts == 0)
            client.pass(ConnectionMachine.stableAfter * 2)
        }
        for _ in 0..<3 { fail() }
        #expect(client.machine.connectionState == .disconnected)
        client.machine.connect(now: client.now)
        _ = client.take()
        #expect(client.machine.reconnectAttempts == 0)
        for _ in 0..<2 { fail() }
        #expect(client.machine.connectionState == .connecting)
    }

    @Test(.regression("A first connection that failed was retried without a pause."))
    func aFirstConnectionThatFailsDoesNotSpin() {
        let failures: [(inout ClientScript) -> Void] = [
            { $0.close(1006, error: TransportError(.couldNotConnect, "refused")) }, { $0.close(4200) },
            { $0.close(1000) }, { $0.receive("nonsense") },
            { $0.receive(#"{"event":"pusher:error","data":{"code":4200,"message":"again"}}"#) },
        ]
        for fail in failures {
            for policy in [ReconnectPolicy.quadratic(), .exponential(base: .seconds(1))] {
                var client = ClientScript { $0.connection.reconnectPolicy = policy }
                #expect((10..<120).contains(client.attemptsInAnHour(failing: fail)))
            }
        }
    }

    // MARK: Races

    enum Moment: CaseIterable {
        case connecting, silent, pinged, waiting

        /// Returns a client at the moment when a deadline expires.
        func makeClient() -> ClientScript {
            var client = ClientScript()
            client.machine.connect(now: client.now)
            _ = client.take()
            if self != .connecting { client.establish(socketID: "1.1") }
            if self == .pinged { client.pass(.seconds(120)) }
            if self == .waiting { client.close(4100) }
            _ = client.take()
            if let deadline = client.machine.nextDeadline { client.now = deadline }
            return client
        }
    }

    @Test(.regression("A timer that raced with a close connected twice."), arguments: Moment.allCases, [true, false])
    func aTimerThatRacesWithACloseChangesNothing(moment: Moment, timerComesFirst: Bool) {
        var client = moment.makeClient()
        if timerComesFirst { client.pass(.zero) }
        client.close(1006)
        client.pass(.zero)
        let lines = client.take()
        #expect(lines.count { $0.hasPrefix("error") } == (moment == .waiting ? 0 : 1))
        let opened = lines.count { $0.hasPrefix("open") }
        if opened == 0 { client.pass(.seconds(1)) }
        #expect(opened + client.take().count { $0.hasPrefix("open") } == 1)

        var leaving = moment.makeClient()
        if timerComesFirst { leaving.pass(.zero) }
        leaving.machine.disconnect(now: leaving.now)
        _ = leaving.take()
        leaving.close(1006)
        leaving.pass(.zero)
        #expect(leaving.idle().allSatisfy { $0 == "disconnecting → disconnected" })
        #expect(leaving.machine.connectionState == .disconnected)
    }
}
