import Foundation
import Testing

@testable import Transport

/// RFC 6455 on the client's side.
struct WebSocketMachineTests {
    private static let stream: [UInt8] =
        text("one") + frame(0x01, Array("tw".utf8)) + frame(0x89, [1, 2]) + frame(0x00, [0xE2]) + frame(0x8A, [])
        + frame(0x80, [0x98, 0x83]) + frame(0x82, [0, 1, 2]) + text("")
        + frame(0x81, Array(repeating: 0x61, count: 300))
        + frame(0x81, Array(repeating: 0x62, count: 70_000)) + frame(0x88, [0x03, 0xE9] + Array("bye".utf8))

    private static let messages: [WebSocketMessage] = [
        .text(Array("one".utf8)[...]), .text(Array("tw☃".utf8)[...]), .binary([0, 1, 2]), .text([]),
        .text(Array(repeating: 0x61, count: 300)[...]), .text(Array(repeating: 0x62, count: 70_000)[...]),
    ]

    @Test(arguments: [1, 2, 3, 7, 64, 1000, 65_536, .max])
    func anyChoppingGivesTheSame(size: Int) throws {
        var script = try WebSocketScript()
        let bytes = script.acceptance() + Self.stream
        var index = 0
        while index < bytes.count {
            let end = size > bytes.count - index ? bytes.count : index + size
            script.receive(Array(bytes[index..<end]))
            index = end
        }
        #expect(script.isOpened)
        #expect(script.messages == Self.messages)
        #expect(script.end == WebSocketClosure(code: 1001, reason: "bye"))
        let frames = script.takeFrames()
        #expect(frames.map(\.opcode) == [0x8A, 0x88])
        #expect(frames.map(\.payload) == [[1, 2], [0x03, 0xE9]])
    }

    struct Violation: Sendable {
        let bytes: [UInt8]
        let code: UInt16

        init(_ bytes: [UInt8], _ code: UInt16) { (self.bytes, self.code) = (bytes, code) }
    }

    @Test(arguments: [
        Violation(frame(0xC1, []), 1002), Violation(frame(0x91, []), 1002), Violation(frame(0x83, []), 1002),
        Violation(frame(0x8B, []), 1002), Violation(frame(0x81, [1], masked: true), 1002),
        Violation(frame(0x09, []), 1002), Violation([0x89, 126, 0, 126], 1002), Violation(frame(0x80, []), 1002),
        Violation(frame(0x01, [0x61]) + frame(0x81, []), 1002), Violation([0x81, 126, 0, 125], 1002),
        Violation([0x81, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 1002),
        Violation([0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002), Violation(frame(0x88, [3]), 1002),
        Violation(frame(0x88, [0x03, 0xED]), 1002), Violation(frame(0x88, [0x03, 0xEE]), 1002),
        Violation(frame(0x88, [0, 1]), 1002), Violation(frame(0x88, [0x13, 0x88]), 1002),
        Violation(frame(0x88, [0x03, 0xE8, 0xFF]), 1007), Violation(frame(0x81, [0xFF]), 1007),
        Violation(frame(0x81, [0xC0, 0x80]), 1007), Violation(frame(0x81, [0xED, 0xA0, 0x80]), 1007),
        Violation(frame(0x81, [0xF4, 0x90, 0x80, 0x80]), 1007), Violation(frame(0x81, [0xE2, 0x98]), 1007),
        Violation(frame(0x01, [0xE2]) + frame(0x80, [0x28]), 1007), Violation(frame(0x01, [0xFF]), 1007),
        Violation([0x81, 100, 0xFF], 1007),
        Violation(frame(0x82, Array(repeating: 0, count: 1001)), 1009),
        Violation(frame(0x02, Array(repeating: 0, count: 600)) + frame(0x80, Array(repeating: 0, count: 401)), 1009),
        Violation([0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 1009),
    ])
    func violationsAreAnsweredWithTheirCode(violation: Violation) throws {
        var script = try WebSocketScript.opened(
            WebSocketRequest(url: "ws://example.com/", maximumMessageSize: 1000))
        script.receive(text("before"))
        script.receive(violation.bytes + text("after"))
        #expect(script.messages == [.text(Array("before".utf8)[...])])
        #expect(script.end?.code == violation.code)
        #expect(script.end?.error?.code == .protocolViolation(code: violation.code))
        let frames = script.takeFrames()
        #expect(frames.map(\.opcode) == [0x88])
        #expect(frames.first?.payload == [UInt8(violation.code >> 8), UInt8(violation.code & 255)])
        script.receive(text("ignored"))
        #expect(script.messages.count == 1)
    }

    @Test func oversizedMessagesCanBeSkipped() throws {
        let request = WebSocketRequest(url: "ws://h/", maximumMessageSize: 100, oversizedMessages: .discard)
        for size in [1, 50, 10_000] {
            var script = try WebSocketScript.opened(request)
            let large = Array(repeating: UInt8(0x61), count: 90)
            let bytes =
                text("a") + frame(0x81, large + large) + frame(0x01, large) + frame(0x00, large) + frame(0x89, [])
                + frame(0x80, large) + text("b") + frame(0x01, large) + frame(0x80, Array(large.prefix(10)))
            for start in stride(from: 0, to: bytes.count, by: size) {
                script.receive(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(
                script.messages == [
                    .text([0x61]), .oversized(byteCount: 180), .oversized(byteCount: 270), .text([0x62]),
                    .text((large + large.prefix(10))[...]),
                ])
            #expect(script.end == nil)
        }
        var script = try WebSocketScript.opened(request)
        script.receive([0x81, 127, 0, 0, 0, 1, 0, 0, 0, 0])
        #expect(script.end?.code == 1009)
    }

    /// No copy is needed.
    @Test func textInOneReadIsFoundThere() throws {
        var script = try WebSocketScript.opened()
        let bytes = frame(0x82, [1]) + text("ab") + frame(0x01, [0x63]) + frame(0x80, [0x64]) + text("")
        let messages = script.machine.receive(bytes, using: &script.random).messages
        #expect(messages.count == 4)
        #expect((0...4).map { messages.textInChunk(at: $0) } == [nil, 5..<7, nil, 15..<15, nil])
    }

    /// RFC 6455, section 5.5.3: only the last ping must be answered.
    @Test func whileNothingCanBeWrittenOnlyTheNewestPingIsAnswered() throws {
        var script = try WebSocketScript.opened()
        script.receive(frame(0x89, [1]) + frame(0x89, [2]))
        #expect(script.takeFrames().map(\.payload) == [[1], [2]])
        script.machine.heldBack()
        for number in 0..<100 { script.receive(frame(0x89, [UInt8(number)]) + frame(0x89, [UInt8(number), 7])) }
        #expect(script.machine.outputCount == 0)
        script.machine.released(using: &script.random)
        #expect(script.takeFrames().map(\.payload) == [[99, 7]])
        #expect(script.takeFrames().isEmpty)
    }

    @Test func nothingFollowsACloseFrame() throws {
        var script = try WebSocketScript.opened()
        script.machine.heldBack()
        script.receive(frame(0x89, [1]))
        script.machine.send(text: [0x61], using: &script.random)
        #expect(script.machine.close(code: 1000, reason: "", using: &script.random))
        #expect(script.takeFrames().map(\.opcode).last == 0x88)
        script.machine.released(using: &script.random)
        #expect(script.takeFrames().isEmpty)
    }

    @Test(
        arguments: [
            (frame(0x09, []), "a fragmented control frame"),
            (frame(0x89, [UInt8](repeating: 0, count: 126)), "a control frame of more than 125 bytes"),
            (frame(0x81, [], masked: true), "a masked frame"), (frame(0x83, []), "a frame with the unknown opcode 3"),
            (frame(0xF1, []), "a frame with a reserved bit set, for which there is no extension"),
            ([0x81, 126, 0, 5], "a length that is not in its shortest form"),
            ([0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], "a length with its highest bit set"),
        ] as [([UInt8], String)])
    func aViolationIsToldInASentence(bytes: [UInt8], what: String) throws {
        var script = try WebSocketScript.opened()
        script.receive(bytes)
        #expect(script.end?.error?.message == "the server sent \(what)")
    }

    // MARK: Sending

    @Test(arguments: [0, 1, 125, 126, 65_535, 65_536, 100_000])
    func framesAreMaskedWithAKeyOfTheirOwn(count: Int) throws {
        var script = try WebSocketScript.opened()
        let payload = (0..<count).map { UInt8($0 % 251) }
        script.machine.send(text: payload, using: &script.random)
        script.machine.send(binary: payload, using: &script.random)
        let frames = script.takeFrames()
        #expect(frames.map(\.opcode) == [0x81, 0x82])
        #expect(frames.allSatisfy { $0.payload == payload })
        #expect(frames[0].key != frames[1].key)
    }

    @Test func nothingIsSentBeforeAndAfter() throws {
        var script = try WebSocketScript()
        script.machine.send(text: [1], using: &script.random)
        #expect(script.machine.takeOutput() == [])
        script.receive(script.acceptance())
        script.receive(frame(0x88, []))
        #expect(script.end == WebSocketClosure(code: 1005))
        _ = script.takeFrames()
        script.machine.send(text: [1], using: &script.random)
        script.machine.ping(using: &script.random)
        #expect(script.machine.takeOutput() == [])
    }

    @Test func closingWaitsForThePeersFrameAndDropsWhatComesBefore() throws {
        var script = try WebSocketScript.opened()
        #expect(script.machine.close(code: 1000, reason: String(repeating: "ü", count: 100), using: &script.random))
        let close = script.takeFrames()
        #expect(close.map(\.opcode) == [0x88])
        #expect(close[0].payload.count == 124)  // cut between characters
        script.receive(text("still") + frame(0x89, []) + frame(0x88, [0x03, 0xE8]) + text("never"))
        #expect(script.messages.isEmpty)
        #expect(script.end == WebSocketClosure(code: 1000))
        #expect(script.takeFrames().isEmpty)
    }

    @Test func anEndWithoutACloseFrameIs1006() throws {
        var script = try WebSocketScript.opened()
        let closure = script.machine.ended(nil)
        #expect(closure.code == 1006)
        #expect(closure.error?.code == .connectionLost)
    }
}

struct ClientHandshakeTests {
    @Test func theRequestIsAsTheRFCHasIt() throws {
        let script = try WebSocketScript(
            WebSocketRequest(
                url: "wss://example.com:8443/app/k?protocol=7", fields: ["X-A": "b"], subprotocols: ["p", "q"]))
        let lines = script.handshake.components(separatedBy: "\r\n")
        #expect(lines[0] == "GET /app/k?protocol=7 HTTP/1.1")
        for line in [
            "Host: example.com:8443", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: p, q", "X-A: b",
        ] {
            #expect(lines.contains(line))
        }
        #expect(!script.handshake.contains("Sec-WebSocket-Extensions"))
        #expect(script.handshake.hasSuffix("\r\n\r\n"))
    }

    @Test(arguments: [
        ("ws://h:80/", "Host: h\r\n"), ("wss://h:443/", "Host: h\r\n"), ("ws://h:443/", "Host: h:443\r\n"),
        ("ws://[::1]:9/", "Host: [::1]:9\r\n"), ("ws://[::1]/", "Host: [::1]\r\n"),
        ("ws://[fe80::1%25eth0]:9/", "Host: [fe80::1]:9\r\n"), ("ws://[fe80::1%eth0]/", "Host: [fe80::1]\r\n"),
        ("wss://bücher.example/", "Host: xn--bcher-kva.example\r\n"),
    ])
    func theHostFieldNamesOddPortsOnly(url: String, expected: String) throws {
        #expect(try WebSocketScript(WebSocketRequest(url: url)).handshake.contains(expected))
    }

    @Test func theAcceptValueIsThatOfTheRFC() {
        #expect(ClientHandshake.accept(key: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test(
        arguments: [
            ("HTTP/1.1 401 Unauthorized\r\n\r\n", .handshakeRefused(status: 401), "401 Unauthorized"),
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc", .handshakeRefused(status: 404), "404 Not Found"),
            ("HTTP/1.0 502 Bad Gateway\r\n\r\n", .handshakeRefused(status: 502), "502 Bad Gateway"),
            ("HTTP/1.1 302\r\nLocation: /\r\n\r\n", .handshakeRefused(status: 302), "302"),
            ("HTTP/1.1 200 OK\r\n\r\n<html>", .notWebSocket, "not a WebSocket server"),
            ("220 mail.example.com ESMTP\r\n", .notWebSocket, "does not speak HTTP"),
            ("\u{0}\u{1}", .notWebSocket, "does not speak HTTP"),
            ("HTTP/1.1 abc\r\n\r\n", .notWebSocket, "malformed HTTP"),
            ("HTTP/1.1 101 X\r\n\r\n", .notWebSocket, "does not upgrade"),
            (
                "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
                .notWebSocket, "Sec-WebSocket-Accept is wrong"
            ),
        ] as [(String, TransportError.Code, String)])
    func failuresKeepStatusAndReason(answer: String, code: TransportError.Code, words: String) throws {
        for size in [1, 1000] {
            var script = try WebSocketScript()
            let bytes = Array(answer.utf8)
            for start in stride(from: 0, to: bytes.count, by: size) {
                script.receive(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            let error = try #require(script.end?.error)
            #expect(error.code == code)
            #expect(error.message.contains(words) && error.message.contains("example.com"))
            #expect(!script.isOpened)
        }
    }

    @Test(arguments: ["Sec-WebSocket-Extensions: permessage-deflate\r\n", "Sec-WebSocket-Protocol: x\r\n"])
    func whatNobodyAskedForIsRefused(field: String) throws {
        var script = try WebSocketScript()
        script.receive(script.acceptance(field))
        #expect(script.end?.error?.code == .notWebSocket)
    }

    @Test func aSubprotocolThatWasOfferedIsFine() throws {
        var script = try WebSocketScript(WebSocketRequest(url: "ws://h/", subprotocols: ["p"]))
        script.receive(script.acceptance("Sec-WebSocket-Protocol: p\r\n"))
        #expect(script.isOpened)
    }

    @Test func aReadThatBringsNothingChangesNothing() throws {
        var script = try WebSocketScript()
        for byte in script.acceptance() {
            script.receive([])
            script.receive([byte])
        }
        #expect(script.isOpened)
        script.receive([])
        #expect(script.end == nil)
    }

    @Test func anEndlessHeadIsRefused() throws {
        var script = try WebSocketScript()
        script.receive(Array("HTTP/1.1 101 X\r\n".utf8))
        for _ in 0..<20 { script.receive(Array(repeating: 0x61, count: 1000)) }
        #expect(script.end?.error?.code == .tooLarge)
        #expect(script.end?.error?.message.contains("maximumHandshakeSize") == true)
    }

    @Test(arguments: [
        ["X-A": "b\r\nX-C: d"], ["X A": "b"], ["X-A\r\nX": "b"], ["": "b"], ["Host": "x"], ["sec-websocket-key": "x"],
    ])
    func fieldsThatWouldBreakTheRequestAreRefused(fields: [String: String]) {
        var added = HTTPFields()
        for (name, value) in fields { added.append(name: name, value: value) }
        #expect(throws: TransportError.self) { try WebSocketScript(WebSocketRequest(url: "ws://h/", fields: added)) }
    }

    @Test(arguments: ["", "http://h/", "ws://", "nonsense", "wss:///path"])
    func otherURLsAreRefused(url: String) {
        #expect(throws: TransportError.self) { try WebSocketScript(WebSocketRequest(url: url)) }
    }

    @Test(arguments: ["ws://h/..", "ws://h/a/../b", "ws://h/./a?b", "wss://h/%2e%2E/a"])
    func aPathWithSegmentsOfDotsIsNotSent(url: String) {
        #expect {
            try WebSocketScript(WebSocketRequest(url: url))
        } throws: { ($0 as? TransportError)?.code == .invalidRequest }
    }

    @Test func otherDotsInAPathAreSent() throws {
        let script = try WebSocketScript(WebSocketRequest(url: "ws://h/a.b/.../..c?d=/../"))
        #expect(script.handshake.hasPrefix("GET /a.b/.../..c?d=/../ HTTP/1.1\r\n"))
    }
}
