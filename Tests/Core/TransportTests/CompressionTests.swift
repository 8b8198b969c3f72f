import TestSupport
import Testing

@testable import Transport

/// permessage-deflate (RFC 7692) on the client's side.
struct CompressionTests {
    private static let hello = Array("Hello".utf8)

    private func opened(
        _ answer: String = "permessage-deflate", offer: DeflateOffer = DeflateOffer(),
        maximumMessageSize: Int = 1 << 20,
        oversizedMessages: WebSocketRequest.OversizedMessages = .close
    ) throws -> WebSocketScript {
        var script = try WebSocketScript(
            WebSocketRequest(
                url: "ws://example.com/", compression: offer, maximumMessageSize: maximumMessageSize,
                oversizedMessages: oversizedMessages))
        script.receive(script.acceptance("Sec-WebSocket-Extensions: \(answer)\r\n"))
        try #require(script.isOpened)
        return script
    }

    private func deflater(windowBits: Int = 15, keepsContext: Bool = true) throws -> Deflater {
        try #require(Deflater(windowBits: windowBits, keepsContext: keepsContext))
    }

    // MARK: Negotiation

    @Test(arguments: [
        (DeflateOffer(), "permessage-deflate; client_max_window_bits"),
        (
            DeflateOffer(serverNoContextTakeover: true, clientNoContextTakeover: true),
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover; client_max_window_bits"
        ),
        (
            DeflateOffer(serverMaxWindowBits: 8, clientMaxWindowBits: 9),
            "permessage-deflate; server_max_window_bits=8; client_max_window_bits=9"
        ),
    ])
    func theOfferSaysWhatIsAskedFor(offer: DeflateOffer, field: String) throws {
        let script = try WebSocketScript(WebSocketRequest(url: "ws://h/", compression: offer))
        #expect(script.handshake.contains("\r\nSec-WebSocket-Extensions: \(field)\r\n"))
    }

    @Test(arguments: [DeflateOffer(serverMaxWindowBits: 7), DeflateOffer(clientMaxWindowBits: 8)])
    func windowsThatCannotBeAreNotOffered(offer: DeflateOffer) {
        #expect(throws: TransportError.self) {
            try WebSocketScript(WebSocketRequest(url: "ws://h/", compression: offer))
        }
    }

    @Test func aServerMayDecline() throws {
        var script = try WebSocketScript(WebSocketRequest(url: "ws://h/", compression: DeflateOffer()))
        script.receive(script.acceptance())
        script.machine.send(text: Self.hello, using: &script.random)
        #expect(script.isOpened)
        #expect(script.takeFrames().map(\.opcode) == [0x81])
        script.receive(frame(0xC1, [0]))
        #expect(script.end?.code == 1002)
    }

    @Test(arguments: [
        "permessage-deflate; client_max_window_bits=10", "permessage-deflate; server_max_window_bits=\"9\"",
        "permessage-deflate ;server_no_context_takeover;client_no_context_takeover ; client_max_window_bits=15",
    ])
    func answersThatFitTheOfferAreTaken(answer: String) throws {
        #expect(try opened(answer).end == nil)
    }

    @Test(arguments: [
        "permessage-deflate; x", "permessage-deflate; client_max_window_bits", "x-webkit-deflate-frame", "",
        "permessage-deflate; client_max_window_bits=16", "permessage-deflate; server_max_window_bits=7",
        "permessage-deflate; server_max_window_bits=09", "permessage-deflate; server_max_window_bits",
        "permessage-deflate; server_no_context_takeover=1", "permessage-deflate, permessage-deflate",
        "permessage-deflate; client_no_context_takeover; client_no_context_takeover",
        "permessage-deflate\r\nSec-WebSocket-Extensions: permessage-deflate",
    ])
    func otherAnswersAreRefused(answer: String) throws {
        var script = try WebSocketScript(WebSocketRequest(url: "ws://h/", compression: DeflateOffer()))
        script.receive(script.acceptance("Sec-WebSocket-Extensions: \(answer)\r\n"))
        #expect(script.end?.error?.code == .notWebSocket)
        #expect(script.end?.error?.message.contains("compression") == true)
    }

    @Test(arguments: [
        (DeflateOffer(serverNoContextTakeover: true), "permessage-deflate"),
        (DeflateOffer(serverMaxWindowBits: 10), "permessage-deflate"),
        (DeflateOffer(serverMaxWindowBits: 10), "permessage-deflate; server_max_window_bits=11"),
        (DeflateOffer(clientMaxWindowBits: 10), "permessage-deflate; client_max_window_bits=11"),
    ])
    func whatWasAskedOfTheServerMustBeInItsAnswer(offer: DeflateOffer, answer: String) throws {
        var script = try WebSocketScript(WebSocketRequest(url: "ws://h/", compression: offer))
        script.receive(script.acceptance("Sec-WebSocket-Extensions: \(answer)\r\n"))
        #expect(script.end?.error?.code == .notWebSocket)
    }

    // MARK: Receiving

    /// The examples of section 7.2.3; the last refers to the previous one.
    @Test(arguments: [
        [frame(0xC1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])],
        [frame(0x41, [0xF2, 0x48, 0xCD]), frame(0x80, [0xC9, 0xC9, 0x07, 0x00])],
        [frame(0xC1, [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00])],
        [frame(0xC1, [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00])],
        [frame(0xC1, [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00])],
        [frame(0xC1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]), frame(0xC1, [0xF2, 0x00, 0x11, 0x00, 0x00])],
        [frame(0xC1, [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]), frame(0xC1, [0xF2, 0x00, 0x11, 0x00, 0x00])],
    ])
    func theExamplesOfTheRFCAreRead(frames: [[UInt8]]) throws {
        var script = try opened()
        script.receive(Array(frames.joined()))
        #expect(Set(script.messages) == [.text(Self.hello[...])])
        #expect(script.end == nil)
    }

    @Test(arguments: [1, 2, 3, 7, 64, 1000, 65_536, .max], [true, false])
    func anyChoppingGivesTheSame(size: Int, keepsContext: Bool) throws {
        let deflater = try deflater(keepsContext: keepsContext)
        let long = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) & 0x7F }
        let messages = [Self.hello, [], Array("snow ☃".utf8), long, Self.hello, long]
        var bytes: [UInt8] = []
        for message in messages {
            bytes += frame(0xC1, deflater.deflate(message)) + text("plain")
            let payload = deflater.deflate(message)
            let cut = payload.count / 2
            bytes += frame(0x42, Array(payload.prefix(cut))) + frame(0x89, [1]) + frame(0x00, [])
            bytes += frame(0x00, Array(payload.dropFirst(cut))) + frame(0x8A, []) + frame(0x80, [])
        }
        var script = try opened()
        var rest = bytes[...]
        while !rest.isEmpty {
            script.receive(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        #expect(
            script.messages
                == messages.flatMap { [.text($0[...]), .text(Array("plain".utf8)[...]), .binary($0[...])] })
        #expect(script.end == nil)
        #expect(script.takeFrames().map(\.opcode) == messages.map { _ in 0x8A })
    }

    @Test(arguments: 8...15)
    func theServersWindowIsRespected(bits: Int) throws {
        var script = try opened("permessage-deflate; server_max_window_bits=\(bits)")
        script.receive(frame(0xC1, [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]))
        #expect(script.messages == [.text(Self.hello[...])])
    }

    @Test(
        arguments: [
            (frame(0xC9, []), 1002), (frame(0xC8, [0x03, 0xE8]), 1002),
            (frame(0x41, [0xF2]) + frame(0xC0, [0x48]), 1002),
            (frame(0x01, [0x61]) + frame(0xC0, [0x48]), 1002), (frame(0xA1, []), 1002), (frame(0x91, []), 1002),
            (frame(0x41, [0xF2]) + frame(0xC1, [0x00]), 1002), (frame(0xC1, [0x07, 0x00]), 1007),
            (frame(0xC1, [0xF2, 0x48, 0xCD]), 1007), (frame(0xC1, []), 1007),
            // "Hello" as a distance into an empty window.
            (frame(0xC1, [0xF2, 0x00, 0x11, 0x00, 0x00]), 1007),
            (frame(0xC1, [0x00, 0x01, 0x00, 0xFE, 0xFF, 0xE2, 0x00]), 1007),
            (frame(0x41, [0x00, 0x01, 0x00, 0xFE, 0xFF, 0xFF]), 1007),
        ] as [([UInt8], UInt16)])
    func violationsAreAnsweredWithTheirCode(bytes: [UInt8], code: UInt16) throws {
        var script = try opened()
        script.receive(text("before"))
        script.receive(bytes + text("after"))
        #expect(script.messages == [.text(Array("before".utf8)[...])])
        #expect(script.end?.error?.code == .protocolViolation(code: code))
        #expect(script.takeFrames().last?.payload == [UInt8(code >> 8), UInt8(code & 255)])
    }

    // MARK: Bombs

    /// A message of `count` MiB of zeros, about 1 KiB each.
    private func bomb(mebibytes count: Int, _ deflater: Deflater) -> [UInt8] {
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        var bomb = deflater.deflate(zeros)
        let part = Deflater.tail + deflater.deflate(zeros)
        for _ in 1..<count { bomb += part }
        return bomb
    }

    @Test func aGigabyteOfNothingIsNotEvenDecompressed() throws {
        let inflater = try #require(Inflater(windowBits: 15))
        let deflater = try deflater()
        let bomb = bomb(mebibytes: 1024, deflater)
        #expect(bomb.count < 2 << 20)
        let limit = 100_000
        var taken = 0
        let outcome = bomb.withUnsafeBytes { bytes in
            inflater.inflate(bytes) {
                taken += $0.count
                return taken <= limit
            }
        }
        #expect(outcome == .stopped)
        #expect(taken <= limit + 16 << 10)
        for policy in [WebSocketRequest.OversizedMessages.close, .discard] {
            var script = try opened(maximumMessageSize: limit, oversizedMessages: policy)
            script.receive(frame(0xC2, bomb))
            #expect(script.end?.code == 1009)
            #expect(script.messages.isEmpty)
        }
    }

    /// A read of 64 KiB can hold 64 MiB. Each call processes a part, so that other work can run in between.
    @Test(arguments: [(300, 200_000), (1, 8 << 20)])
    func oneCallInflatesABoundedPart(count: Int, size: Int) throws {
        let deflater = try deflater()
        let message = [UInt8](repeating: 0x61, count: size)
        let chunk = (0..<count).flatMap { _ in frame(0xC1, deflater.deflate(message)) }
        #expect(chunk.count < 100_000)
        var script = try opened(maximumMessageSize: size)
        var parts = [script.machine.receive(chunk, using: &script.random)]
        while script.machine.hasRest { parts.append(script.machine.resume(using: &script.random)) }
        let bound = WebSocketMachine.inflatedBytesPerCall + 1032 << 10
        #expect(parts.allSatisfy { $0.inflatedByteCount <= bound })
        #expect(parts.map(\.inflatedByteCount).reduce(0, +) == count * size)
        #expect(parts.allSatisfy { Self.sizes(Array($0.messages)).reduce(0, +) <= bound + size })
        #expect(parts.flatMap { Self.sizes(Array($0.messages)) } == Array(repeating: size, count: count))
    }

    @Test func whatIsLeftIsForgottenAtTheEnd() throws {
        let deflater = try deflater()
        let message = [UInt8](repeating: 0x61, count: 1 << 20)
        let close = frame(0x88, [0x03, 0xE8])
        var script = try opened()
        _ = script.machine.receive(
            (0..<3).flatMap { _ in frame(0xC1, deflater.deflate(message)) } + close, using: &script.random)
        #expect(script.machine.hasRest)
        _ = script.machine.ended(nil)
        #expect(!script.machine.hasRest)
        #expect(script.machine.resume(using: &script.random).messages.isEmpty)
    }

    private static let large = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 5) }

    private static func sizes(_ messages: [WebSocketMessage]) -> [Int] {
        messages.map { message in
            switch message {
            case .text(let bytes), .binary(let bytes): bytes.count
            case .oversized(let byteCount): -byteCount
            }
        }
    }

    /// Without context takeover, an oversized message can be skipped without decompressing.
    @Test(arguments: [1, 7, 1000, .max])
    func whatIsTooLargeIsSkippedWithoutInflatingIt(size: Int) throws {
        let deflater = try deflater(keepsContext: false)
        var script = try opened(
            "permessage-deflate; server_no_context_takeover", maximumMessageSize: 100_000, oversizedMessages: .discard)
        // Data beyond the limit is not inspected, so invalid data there does not matter.
        let payload = deflater.deflate(Self.large) + [0x07, 0xFF, 0x07, 0xFF]
        let cut = payload.count * 9 / 10
        var bytes = frame(0xC2, payload) + frame(0xC1, deflater.deflate(Self.hello))
        bytes += frame(0x42, Array(payload[..<cut])) + frame(0x89, []) + frame(0x00, Array(payload[cut...]))
        bytes += frame(0x80, []) + frame(0xC1, deflater.deflate(Self.hello))
        for start in stride(from: 0, to: bytes.count, by: min(size, bytes.count)) {
            script.receive(Array(bytes[start..<min(start + min(size, bytes.count), bytes.count)]))
        }
        let sizes = Self.sizes(script.messages)
        try #require(sizes.count == 4)
        #expect([sizes[0], sizes[2]].allSatisfy { (-100_000 - 16 << 10 ... -100_001).contains($0) })
        #expect([script.messages[1], script.messages[3]] == [.text(Self.hello[...]), .text(Self.hello[...])])
        #expect(script.end == nil)
        #expect(script.takeFrames().map(\.opcode) == [0x8A])
    }

    /// The next message may refer to all of it, so skipping it means inflating it, and the server decides its size.
    @Test func whatIsTooLargeEndsAConnectionWhoseContextIsTakenOver() throws {
        let deflater = try deflater()
        var script = try opened(maximumMessageSize: 100_000, oversizedMessages: .discard)
        script.receive(frame(0xC2, deflater.deflate(Self.large)) + frame(0xC2, deflater.deflate(Self.hello)))
        #expect(script.messages.isEmpty)
        #expect(script.end?.error?.code == .protocolViolation(code: 1009))
        #expect(script.end?.error?.message.contains("maximumMessageSize") == true)
    }

    @Test func aMessageThatComesToNothingDoesNotGoOnForEver() throws {
        var script = try opened(maximumMessageSize: 1000)
        let nothing = [UInt8](repeatElement([0, 0, 0, 0xFF, 0xFF], count: 2000).joined())
        script.receive(frame(0x42, nothing))
        for _ in 0..<10 { script.receive(frame(0x00, nothing)) }
        #expect(script.end?.code == 1009)
    }

    /// 6,400 bytes that inflate to nothing pass with a limit of 100; one more byte does not.
    @Test(arguments: [WebSocketRequest.OversizedMessages.close, .discard])
    func compressedBytesAreCountedToo(oversized: WebSocketRequest.OversizedMessages) throws {
        let nothing = [UInt8](repeatElement([0, 0, 0, 0xFF, 0xFF], count: 640).joined())
        var script = try opened(maximumMessageSize: 100, oversizedMessages: oversized)
        script.receive(frame(0x42, nothing) + frame(0x00, nothing))
        #expect(script.end == nil)
        script.receive(frame(0x80, [0]))
        #expect(script.end?.code == 1009)
    }

    /// When a server sends a large message in many small pieces, no piece may cost as much as all earlier ones.
    @Test(arguments: [true, false])
    func aPieceOfALargeMessageCostsNoMoreThanOneOfASmallMessage(isCompressed: Bool) throws {
        func cost(behind size: Int) throws -> Duration {
            let deflater = try deflater()
            func part(_ bytes: [UInt8]) -> [UInt8] { isCompressed ? deflater.deflate(bytes) + Deflater.tail : bytes }
            var script = try opened(maximumMessageSize: 64 << 20)
            // The first piece may reserve space for the others.
            script.receive(frame(isCompressed ? 0x42 : 0x02, part([UInt8](repeating: 7, count: size))))
            script.receive(frame(0x00, part([7])))
            let pieces = (0..<500).map { _ in frame(0x00, part([7])) }
            let time = cpuTime { for piece in pieces { script.receive(piece) } }
            script.receive(frame(0x80, isCompressed ? [0] : []))
            #expect(Self.sizes(script.messages) == [size + 501])
            return time
        }
        #expect(try cost(behind: 6 << 20) < cost(behind: 1) * 20)
    }

    @Test func compressedMessagesOfTheMaximumSizeAreTaken() throws {
        for (count, isTaken) in [(1000, true), (1001, false)] {
            let message = [UInt8](repeating: 7, count: count)
            let payload = try deflater().deflate(message)
            var closing = try opened("permessage-deflate", maximumMessageSize: 1000)
            var skipping = try opened(
                "permessage-deflate; server_no_context_takeover", maximumMessageSize: 1000, oversizedMessages: .discard)
            closing.receive(frame(0xC2, payload))
            skipping.receive(frame(0xC2, payload))
            #expect(closing.messages == (isTaken ? [.binary(message[...])] : []))
            #expect(closing.end?.code == (isTaken ? nil : 1009))
            #expect(skipping.messages == [isTaken ? .binary(message[...]) : .oversized(byteCount: 1001)])
        }
    }

    /// A server that does not mention its window has one of 32 KiB.
    @Test func aReferenceMayGoBackByTheWholeWindow() throws {
        var state: UInt64 = 1
        let noise = (0..<32_000).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
        let deflater = try deflater()
        var script = try opened(maximumMessageSize: 1 << 20)
        script.receive(frame(0xC2, deflater.deflate(noise)) + frame(0xC2, deflater.deflate(noise)))
        #expect(script.messages == [.binary(noise[...]), .binary(noise[...])])
    }

    // MARK: Sending

    @Test(
        arguments: [
            ("permessage-deflate", [0xF2, 0x00, 0x11, 0x00, 0x00]),
            ("permessage-deflate; client_no_context_takeover", [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]),
        ] as [(String, [UInt8])])
    func theContextIsTakenOverUnlessTheServerSaysNo(answer: String, second: [UInt8]) throws {
        var script = try opened(answer)
        for _ in 0..<2 { script.machine.send(text: Self.hello, using: &script.random) }
        script.machine.ping(using: &script.random)
        let frames = script.takeFrames()
        #expect(frames.map(\.opcode) == [0xC1, 0xC1, 0x89])
        #expect(frames.map(\.payload) == [[0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], second, [0, 0, 0, 1]])
    }

    /// A client that offered it must comply even if the server does not mention it.
    @Test func withoutTakeoverEachMessageStandsAlone() throws {
        var script = try opened(offer: DeflateOffer(clientNoContextTakeover: true))
        for _ in 0..<2 { script.machine.send(text: Self.hello, using: &script.random) }
        #expect(Set(script.takeFrames().map(\.payload)) == [[0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]])
    }

    @Test(arguments: 9...15)
    func whatIsSentFitsIntoTheAgreedWindow(bits: Int) throws {
        var script = try opened("permessage-deflate; client_max_window_bits=\(bits)")
        let inflater = try #require(Inflater(windowBits: bits))
        let messages = [[], Self.hello, (0..<200_000).map { UInt8(truncatingIfNeeded: $0 % 1021) }, [], Self.hello]
        for message in messages { script.machine.send(binary: message, using: &script.random) }
        for (frame, message) in zip(script.takeFrames(), messages) {
            var inflated: [UInt8] = []
            func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
                inflated += bytes
                return true
            }
            #expect(frame.opcode == 0xC2)
            #expect(frame.payload.withUnsafeBytes { inflater.inflate($0, take) } == .done)
            #expect(inflater.finishMessage(take) == .done)
            #expect(inflated == message)
        }
    }

    /// zlib has no window of 256 bytes, and a message need not be compressed (section 6.1).
    @Test func withTheSmallestWindowMessagesAreSentAsTheyAre() throws {
        var script = try opened("permessage-deflate; client_max_window_bits=8")
        script.machine.send(text: Self.hello, using: &script.random)
        #expect(script.takeFrames().map(\.payload) == [Self.hello])
    }
}
