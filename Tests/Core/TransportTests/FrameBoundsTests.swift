import Testing

@testable import Transport

/// The limits of frames and messages, each from both sides.
struct FrameBoundsTests {
    private static func opened(_ oversized: WebSocketRequest.OversizedMessages) throws -> WebSocketScript {
        try .opened(WebSocketRequest(url: "ws://h/", maximumMessageSize: 100, oversizedMessages: oversized))
    }

    private func zeros(_ count: Int) -> [UInt8] { Array(repeating: 0, count: count) }

    // MARK: Messages

    @Test(arguments: [WebSocketRequest.OversizedMessages.close, .discard])
    func aMessageOfTheMaximumSizeIsTaken(oversized: WebSocketRequest.OversizedMessages) throws {
        var script = try Self.opened(oversized)
        script.receive(frame(0x82, zeros(100)) + frame(0x02, zeros(60)) + frame(0x00, []) + frame(0x80, zeros(40)))
        #expect(script.messages == [.binary(zeros(100)[...]), .binary(zeros(100)[...])])
        #expect(script.end == nil)
    }

    @Test func oneByteMoreIsTooLarge() throws {
        for bytes in [frame(0x82, zeros(101)), frame(0x02, zeros(60)) + frame(0x80, zeros(41))] {
            var script = try Self.opened(.close)
            script.receive(bytes)
            #expect(script.end?.code == 1009)
            var skipping = try Self.opened(.discard)
            skipping.receive(bytes)
            #expect(skipping.messages == [.oversized(byteCount: 101)])
            #expect(skipping.end == nil)
        }
    }

    /// 64 times the limit is skipped, one more byte closes; in one frame and in many.
    @Test func aMessageIsSkippedUpTo64TimesTheLimit() throws {
        var script = try Self.opened(.discard)
        script.receive(frame(0x82, zeros(6400)) + frame(0x02, zeros(3200)) + frame(0x80, zeros(3200)) + text("a"))
        #expect(script.messages == [.oversized(byteCount: 6400), .oversized(byteCount: 6400), .text([0x61])])
        #expect(script.end == nil)
        for bytes in [frame(0x82, zeros(6401)), frame(0x02, zeros(3200)) + frame(0x80, zeros(3201))] {
            var script = try Self.opened(.discard)
            script.receive(bytes)
            #expect(script.end?.code == 1009)
            #expect(script.messages.isEmpty)
        }
    }

    @Test func everyFragmentOfASkippedMessageIsSkipped() throws {
        var script = try Self.opened(.discard)
        script.receive(frame(0x01, zeros(101)) + frame(0x00, []) + frame(0x00, [0x61]) + frame(0x80, [0x62]))
        script.receive(frame(0x01, [0x63]) + frame(0x80, [0x64]))
        #expect(script.messages == [.oversized(byteCount: 103), .text([0x63, 0x64])])
    }

    @Test func aLimitWithoutLimitIsNone() throws {
        for oversized in [WebSocketRequest.OversizedMessages.close, .discard] {
            var script = try WebSocketScript.opened(
                WebSocketRequest(url: "ws://h/", maximumMessageSize: .max, oversizedMessages: oversized))
            script.receive(text("a"))
            #expect(script.messages == [.text([0x61])])
        }
    }

    // MARK: Frames

    @Test func controlFramesMayHave125Bytes() throws {
        var script = try WebSocketScript.opened()
        script.receive(frame(0x89, zeros(125)))
        #expect(script.takeFrames().map(\.payload) == [zeros(125)])
        script.receive(frame(0x88, [0x03, 0xE8] + Array(repeating: 0x61, count: 123)))
        #expect(script.end == WebSocketClosure(code: 1000, reason: String(repeating: "a", count: 123)))
    }

    @Test(arguments: [0, 1, 122, 123, 124, 200])
    func aCloseReasonIsCutAt123Bytes(count: Int) throws {
        var script = try WebSocketScript.opened()
        _ = script.machine.close(code: 3000, reason: String(repeating: "a", count: count), using: &script.random)
        let payload = try #require(script.takeFrames().first?.payload)
        #expect(payload == [0x0B, 0xB8] + Array(repeating: 0x61, count: min(count, 123)))
    }

    /// The shortest and the longest payload of each length encoding.
    @Test(arguments: [0, 125, 126, 127, 65_535, 65_536])
    func lengthsOfEachFormAreRead(count: Int) throws {
        var script = try WebSocketScript.opened()
        let bytes = frame(0x82, zeros(count)) + text("a")
        for piece in [bytes.prefix(1), bytes.dropFirst(1).prefix(8), bytes.dropFirst(9)] {
            script.receive(Array(piece))
        }
        #expect(script.messages == [.binary(zeros(count)[...]), .text([0x61])])
    }

    @Test(
        arguments: [
            (1000, true), (1003, true), (1004, false), (1005, false), (1006, false), (1007, true), (1014, true),
            (1015, false), (999, false), (1016, false), (2999, false), (3000, true), (4999, true), (5000, false),
            (0, false), (65_535, false),
        ] as [(UInt16, Bool)])
    func closeCodesAreThoseThatMayBeSent(code: UInt16, isAllowed: Bool) throws {
        var script = try WebSocketScript.opened()
        script.receive(frame(0x88, [UInt8(code >> 8), UInt8(code & 255)]))
        #expect(script.end?.code == (isAllowed ? code : 1002))
        #expect((script.end?.error == nil) == isAllowed)
    }

    @Test func pingsDoNotQueueUpWhileNobodyReads() throws {
        var script = try WebSocketScript.opened()
        script.machine.heldBack()
        for _ in 0..<3 { script.machine.ping(using: &script.random) }
        #expect(script.machine.takeOutput() == [])
        script.receive(frame(0x8A, [0, 0, 0, 3]))  // guessed: it has not been sent yet
        #expect(script.pongCount == 0)
        script.machine.released(using: &script.random)
        let pings = script.takeFrames()
        #expect(pings.map(\.opcode) == [0x89])
        script.receive(frame(0x8A, pings[0].payload))
        #expect(script.pongCount == 1)
    }

    /// A pong may be an unsolicited heartbeat, and a peer may answer only the newest of several pings (RFC 6455,
    /// section 5.5.3).
    @Test func onlyTheAnswerToTheNewestPingIsTold() throws {
        var script = try WebSocketScript.opened()
        script.receive(frame(0x8A, []))
        script.machine.ping(using: &script.random)
        script.machine.ping(using: &script.random)
        let pings = script.takeFrames()
        #expect(pings.map(\.opcode) == [0x89, 0x89])
        script.receive(text("a") + frame(0x8A, []) + frame(0x8A, pings[0].payload))
        #expect(script.pongCount == 0)
        script.receive(frame(0x8A, pings[1].payload))
        #expect(script.pongCount == 1)
        script.receive(frame(0x8A, pings[1].payload))
        #expect(script.pongCount == 1)
    }
}
