import NIOWebSocket
import PusherMockServer
import TestSupport
import Testing

@Suite(.overSockets)
struct FaultTests {

    @Test(arguments: [.refuseConnection, .httpStatus(503)] as [PusherMockServer.HandshakeFault])
    func upgradeFailsAsOftenAsArmed(fault: PusherMockServer.HandshakeFault) async throws {
        let server = try await PusherMockServer.start()
        await server.failHandshakes(fault, next: 2)
        for _ in 0..<2 {
            await #expect(throws: (any Error).self) { try await TestClient.connect(to: server) }
        }
        _ = try await TestClient.connect(to: server)
        #expect(await server.waitFor { $0.connectionCount == 1 })
        await server.stop()
    }

    @Test(
        arguments: [
            (
                .overCapacity,
                [.text(errorFrame("Over capacity", code: 4100)), .close(code: 4100, reason: "Over capacity")]
            ),
            (.close(code: 4200, reason: "again"), [.close(code: 4200, reason: "again")]),
            (.text("{nonsense"), [.text("{nonsense")]),
        ] as [(PusherMockServer.HandshakeFault, [Received])])
    func handshakeIsReplaced(fault: PusherMockServer.HandshakeFault, expected: [Received]) async throws {
        let server = try await PusherMockServer.start()
        await server.failHandshakes(fault)
        let client = try await TestClient.connect(to: server)
        for expectation in expected { #expect(await client.next() == expectation) }
        #expect(await server.state.connectionCount == 0)
        await server.stop()
    }

    @Test func errorComesBeforeTheHandshake() async throws {
        let server = try await PusherMockServer.start()
        await server.failHandshakes(.errorFirst(code: nil, message: "m"))
        let client = try await TestClient.connect(to: server)
        #expect(await client.text() == errorFrame("m"))
        #expect(await client.text()?.contains("connection_established") == true)
        await server.stop()
    }

    @Test func handshakeIsDelayedOrWithheld() async throws {
        let server = try await PusherMockServer.start()
        await server.failHandshakes(.never, next: 1)
        await server.failHandshakes(.delay(.milliseconds(100)), next: 1)
        let mute = try await TestClient.connect(to: server)
        let start = ContinuousClock.now
        let late = try await TestClient.connect(to: server)
        #expect(await late.text()?.contains("connection_established") == true)
        #expect(ContinuousClock.now - start >= .milliseconds(100))
        #expect(await server.state.connectionCount == 1)
        await server.stop()
        #expect(await mute.next() == .end)
    }

    @Test func faultStrikesTheApplicationThatIsMeant() async throws {
        let server = try await PusherMockServer.start(.init(apps: [.init(), .init(id: "2", key: "two")]))
        await server.failHandshakes(.overCapacity, app: "two")
        _ = try await TestClient.established(to: server)
        let refused = try await TestClient.connect(to: server, path: "/app/two?protocol=7")
        #expect(await refused.text()?.contains("4100") == true)
        await server.clearFaults()
        let client = try await TestClient.connect(to: server, path: "/app/two?protocol=7")
        #expect(await client.text()?.contains("connection_established") == true)
        await server.stop()
    }

    @Test(
        arguments: [
            (.close(code: 4200, reason: "bye"), [.close(code: 4200, reason: "bye")]),
            (.close(code: nil), [.close(code: 1005, reason: "")]),
            (.dropTCP, [.end]),
            (.resetTCP, [.end]),
            (.text("{]"), [.text("{]")]),
            (.binary([0, 255]), [.binary([0, 255])]),
            (.ping([7]), [.ping([7])]),
            // A fragmented control frame, which RFC 6455 forbids.
            (.bytes([0x09, 0x00]), [.garbage]),
            (.hugeText(byteCount: 1 << 20), [.text(String(repeating: "x", count: 1 << 20))]),
        ] as [(PusherMockServer.ConnectionFault, [Received])])
    func establishedConnectionIsStruckAtOnce(
        fault: PusherMockServer.ConnectionFault, expected: [Received]
    ) async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        try await server.inject(fault, into: socketID)
        for expectation in expected {
            let seen = await client.next()
            #expect(seen == expectation)
        }
        await server.stop()
    }

    @Test func faultWaitsForTheFramesBeforeIt() async throws {
        let server = try await PusherMockServer.start()
        await server.injectIntoNewConnections(.close(code: 4100, reason: "later"), afterFrames: 3, next: 1)
        let (client, socketID) = try await TestClient.established(to: server)
        #expect(try await client.subscribe("c", socketID: socketID) == succeeded("c"))
        for number in 1...2 { await server.publish(event: "e\(number)", channel: "c", data: "") }
        #expect(await client.text()?.contains("e1") == true)
        #expect(await client.next() == .close(code: 4100, reason: "later"))
        let (other, _) = try await TestClient.subscribed(to: "c", on: server)
        for number in 1...3 {
            await server.publish(event: "e\(number)", channel: "c", data: "")
            #expect(await other.text()?.contains("e\(number)") == true)
        }
        await server.stop()
    }

    @Test func silentConnectionStaysUpAndSaysNothing() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.subscribed(to: "c", on: server)
        try await server.inject(.goSilent, into: socketID)
        try await client.send(#"{"event":"pusher:ping"}"#)
        try await client.send(.ping, [])
        await server.publish(event: "e", channel: "c", data: "")
        #expect(await server.state.connectionCount == 1)
        #expect(await server.state.tcpConnectionCount == 1)
        await server.stop()
        #expect(await client.rest() == [])
    }

    @Test func pingsAreIgnoredAndTheRestAnswered() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        try await server.inject(.ignorePings, into: socketID)
        try await client.send(#"{"event":"pusher:ping"}"#)
        try await client.send(.ping, [])
        #expect(try await client.subscribe("c", socketID: socketID) == succeeded("c"))
        await server.stop()
    }

    @Test func framesAreSentTwiceOrInPieces() async throws {
        let server = try await PusherMockServer.start()
        let (twice, twiceID) = try await TestClient.established(to: server)
        try await server.inject(.duplicateFrames, into: twiceID)
        #expect(try await twice.subscribe("c", socketID: twiceID) == succeeded("c"))
        #expect(await twice.text() == succeeded("c"))

        let (pieces, piecesID) = try await TestClient.established(to: server)
        try await server.inject(.fragmentFrames(byteCount: 40), into: piecesID)
        try await pieces.sendSubscribe("c", socketID: piecesID)
        var text = ""
        var isLast = false
        while !isLast, case .fragment(let part, let last) = await pieces.next() {
            #expect(part.utf8.count == 40 || last)
            text += part
            isLast = last
        }
        #expect(text == succeeded("c"))
        await server.stop()
    }

    private func publishThree(to channel: String, on server: PusherMockServer) async {
        for number in 1...3 { await server.publish(event: "e\(number)", channel: channel, data: "x") }
    }

    @Test func framesComeInReverseOrder() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.subscribed(to: "c", on: server)
        try await server.inject(.reverseFrames(count: 3), into: socketID)
        await publishThree(to: "c", on: server)
        for number in [3, 2, 1] {
            #expect(await client.text() == #"{"event":"e\#(number)","channel":"c","data":"x"}"#)
        }
        await server.stop()
    }

    @Test func framesComeLateAndInOrder() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.subscribed(to: "c", on: server)
        try await server.inject(.delayFrames(.milliseconds(60)), into: socketID)
        let start = ContinuousClock.now
        await publishThree(to: "c", on: server)
        for number in 1...3 { #expect(await client.text()?.contains("e\(number)") == true) }
        #expect(ContinuousClock.now - start >= .milliseconds(60))
        await server.stop()
    }

    @Test func framesShareASegmentOrAreSpreadOverMany() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.subscribed(to: "c", on: server)
        try await server.inject(.mergeFrames(count: 3), into: socketID)
        let reads = client.readCount()
        await publishThree(to: "c", on: server)
        for number in 1...3 { #expect(await client.text()?.contains("e\(number)") == true) }
        #expect(client.readCount() == reads + 1)

        let (other, otherID) = try await TestClient.subscribed(to: "d", on: server)
        try await server.inject(.splitWrites(byteCount: 20), into: otherID)
        let before = other.readCount()
        // Long enough to take a while, so that even a late reader sees some pieces separately.
        let data = String(repeating: "x", count: 4000)
        await server.publish(event: "e", channel: "d", data: data)
        #expect(await other.text() == #"{"event":"e","channel":"d","data":"\#(data)"}"#)
        #expect(other.readCount() - before > 3)
        await server.stop()
    }

    @Test func dataIsLeftOut() async throws {
        let server = try await PusherMockServer.start()
        let (client, socketID) = try await TestClient.established(to: server)
        try await server.inject(.omitData, into: socketID)
        #expect(
            try await client.subscribe("c", socketID: socketID)
                == #"{"event":"pusher_internal:subscription_succeeded","channel":"c"}"#)
        await server.stop()
    }

    @Test func unknownConnectionIsAnError() async throws {
        let server = try await PusherMockServer.start()
        let error = await #expect(throws: PusherMockServerError.self) {
            try await server.send(raw: "x", to: "1.2")
        }
        #expect(error?.code == .unknownConnection)
        await server.stop()
    }
}
