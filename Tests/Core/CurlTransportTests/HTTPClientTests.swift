import Basics
import CurlTransport
import Foundation
import TestSupport
import Testing
import Transport

@Suite(.overSockets)
struct HTTPClientTests {
    private let options = NetworkOptions(proxy: "")

    /// Answers every request of a connection with `answer`, and records the connection, head and body.
    private static func server(
        _ log: Lock<[(connection: Int, head: String, body: String)]> = Lock([]),
        answer: String = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Answer: a b \r\n\r\nok"
    ) -> SocketServer {
        let connections = Lock(0)
        return SocketServer { peer in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            while true {
                let head = peer.readHead()
                if head.isEmpty { return }
                let length =
                    Int(
                        head.components(separatedBy: "Content-Length: ").dropFirst().first?.prefix { $0 != "\r\n" }
                            ?? "0") ?? 0
                var body: [UInt8] = []
                while body.count < length { body += peer.read(atMost: length - body.count) }
                log.withLock { $0.append((number, head, String(decoding: body, as: UTF8.self))) }
                peer.write(answer)
            }
        }
    }

    @Test func requestsAndAnswersAreWhole() async throws {
        let log = Lock<[(connection: Int, head: String, body: String)]>([])
        let server = Self.server(log)
        let response = try await HTTPClient.send(
            HTTPRequest(
                method: "POST", url: "http://127.0.0.1:\(server.port)/path?q=1", fields: ["X-A": "b", "X-Empty": ""],
                body: Array("body".utf8)),
            options: options)
        #expect(response.status == 200 && response.body == Array("ok".utf8))
        #expect(response.fields["x-answer"] == "a b")
        let seen = try #require(log.withLock { $0.first })
        #expect(seen.head.hasPrefix("POST /path?q=1 HTTP/1.1\r\n"))
        #expect(seen.head.contains("X-A: b\r\n") && seen.head.contains("X-Empty:") && !seen.head.contains("Expect"))
        #expect(seen.body == "body")
    }

    /// `*.localhost` is 127.0.0.1.
    @Test(arguments: ["bücher.localhost", "xn--bcher-kva.localhost"])
    func internationalNamesAreSentInASCII(host: String) async throws {
        let log = Lock<[(connection: Int, head: String, body: String)]>([])
        let server = Self.server(log)
        let response = try await HTTPClient.send(
            HTTPRequest(url: "http://\(host):\(server.port)/%41?q=%C3%BC"), options: options)
        #expect(response.status == 200)
        let head = try #require(log.withLock { $0.first?.head })
        #expect(head.hasPrefix("GET /%41?q=%C3%BC HTTP/1.1\r\n"))
        #expect(head.contains("Host: xn--bcher-kva.localhost:\(server.port)\r\n"))
    }

    @Test func connectionsAreKeptAlive() async throws {
        let log = Lock<[(connection: Int, head: String, body: String)]>([])
        let server = Self.server(log)
        for _ in 0..<10 {
            _ = try await HTTPClient.send(HTTPRequest(url: "http://127.0.0.1:\(server.port)/"), options: options)
        }
        #expect(log.withLock { Set($0.map(\.connection)) } == [1])
    }

    /// Answers the first request of each connection, and does `next` to the connection on the second.
    private static func serverOfOneAnswer(
        _ log: Lock<[(connection: Int, head: String, body: String)]>,
        then next: @escaping @Sendable (SocketServer.Peer, _ connection: Int) -> Void
    ) -> SocketServer {
        let connections = Lock(0)
        return SocketServer { peer in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            for turn in 1...2 {
                let head = peer.readHead()
                if head.isEmpty { return }
                let body = head.hasPrefix("POST") ? String(decoding: peer.read(atMost: 4), as: UTF8.self) : ""
                log.withLock { $0.append((number, head, body)) }
                if turn == 1 { peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
            }
            next(peer, number)
        }
    }

    /// RFC 9110, section 9.2.2. libcurl would resend any request.
    @Test func onlyWhatIsSafeToRepeatIsSentAgainWhenAKeptConnectionBreaks() async throws {
        for (method, isSafe) in [("GET", nil), ("POST", nil), ("POST", true), ("PUT", nil)] as [(String, Bool?)] {
            let log = Lock<[(connection: Int, head: String, body: String)]>([])
            let server = Self.serverOfOneAnswer(log) { _, _ in }
            var request = HTTPRequest(
                method: method, url: "http://127.0.0.1:\(server.port)/",
                body: method == "POST" ? Array("body".utf8) : [])
            if let isSafe { request.isSafeToRepeat = isSafe }
            _ = try await HTTPClient.send(request, options: options)
            if request.isSafeToRepeat {
                #expect(try await HTTPClient.send(request, options: options).status == 200)
                #expect(log.withLock { $0.map(\.connection) } == [1, 1, 2])
            } else {
                let error = await #expect(throws: TransportError.self) {
                    try await HTTPClient.send(request, options: options)
                }
                #expect(error?.code == .connectionLost)
                #expect(error?.message.hasSuffix("the request may have arrived, and is not sent again") == true)
                #expect(log.withLock { $0.map(\.connection) } == [1, 1])
            }
            #expect(log.withLock { $0.allSatisfy { $0.body == (method == "POST" ? "body" : "") } })
        }
    }

    /// Like after a change of network: nothing reports that the connection is gone.
    @Test(arguments: [false, true])
    func aKeptConnectionThatIsDeadCostsOneQuickRetry(intoFile: Bool) async throws {
        let log = Lock<[(connection: Int, head: String, body: String)]>([])
        let (isDeaf, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let connections = Lock(0)
        let server = SocketServer { peer in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            log.withLock { $0.append((number, peer.readHead(), "")) }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            guard number == 1 else { return }
            peer.goDeaf()
            isDeaf.signal()
            mayEnd.wait()
        }
        var request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/", timeout: .seconds(60))
        _ = try await HTTPClient.send(request, options: options)
        let file = FileManager.default.temporaryDirectory.appending(path: "answer-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        if intoFile { request.answerFile = HTTPAnswerFile(path: file.path) }
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                isDeaf.wait()
                done.resume()
            }
        }
        let start = ContinuousClock.now
        let response = try await HTTPClient.send(request, options: options)
        #expect(response.status == 200)
        #expect(response.body == (intoFile ? [] : Array("ok".utf8)))
        #expect((try? Data(contentsOf: file)) == (intoFile ? Data("ok".utf8) : nil))
        #expect(ContinuousClock.now - start < .seconds(40))
        #expect(connections.withLock { $0 } == 2)
        mayEnd.signal()
    }

    @Test func aServerThatIsSlowIsNotAskedTwice() async throws {
        let log = Lock<[(connection: Int, head: String, body: String)]>([])
        let server = Self.serverOfOneAnswer(log) { peer, _ in
            _ = peer.read()  // until the client gives up
        }
        var request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/")
        _ = try await HTTPClient.send(request, options: options)
        request.timeout = .seconds(4)
        let error = await #expect(throws: TransportError.self) {
            try await HTTPClient.send(request, options: options)
        }
        #expect(error?.code == .timedOut)
        #expect(log.withLock { $0.map(\.connection) } == [1, 1])
    }

    @Test func connectionsThatMayBeDeadAreNotUsed() async throws {
        let log = Lock<[(connection: Int, head: String, body: String)]>([])
        let server = Self.server(log)
        var request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/")
        _ = try await HTTPClient.send(request, options: options)
        request.usesConnectionsSince = .now
        _ = try await HTTPClient.send(request, options: options)
        #expect(log.withLock { $0.map(\.connection) } == [1, 2])
        // A connection used since then may be used.
        request.usesConnectionsSince = .now + .seconds(-100)
        _ = try await HTTPClient.send(request, options: options)
        #expect(log.withLock { $0.count } == 3)
        #expect(log.withLock { Set($0.map(\.connection)) } == [1, 2])
    }

    /// The path may have been signed.
    @Test(arguments: ["/a/../b", "/./a", "/a/..", "/a/%2e%2e/b?x=/../y"])
    func pathsAreSentAsTheyAre(path: String) async throws {
        let log = Lock<[(connection: Int, head: String, body: String)]>([])
        let server = Self.server(log)
        _ = try await HTTPClient.send(
            HTTPRequest(url: "http://127.0.0.1:\(server.port)\(path)"), options: options)
        #expect(log.withLock { $0.first?.head.hasPrefix("GET \(path) HTTP/1.1\r\n") } == true)
    }

    @Test func redirectsAreNotFollowedUnlessAsked() async throws {
        let log = Lock<[(connection: Int, head: String, body: String)]>([])
        let target = Self.server(log)
        let server = Self.server(
            answer: "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(target.port)/there\r\nContent-Length: 0\r\n\r\n"
        )
        var request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/")
        #expect(try await HTTPClient.send(request, options: options).status == 302)
        #expect(log.withLock { $0.isEmpty })
        request.followsRedirects = true
        #expect(try await HTTPClient.send(request, options: options).status == 200)
        #expect(log.withLock { $0.count } == 1)
    }

    @Test func bodiesAreBounded() async throws {
        let server = Self.server(
            answer: "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + String(repeating: "x", count: 5000))
        var request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/", maximumBodySize: 5000)
        #expect(try await HTTPClient.send(request, options: options).body.count == 5000)
        request.maximumBodySize = 4999
        await #expect {
            try await HTTPClient.send(request, options: options)
        } throws: { error in
            let error = error as? TransportError
            return error?.code == .tooLarge && error?.message.contains("maximumBodySize") == true
        }
    }

    @Test func silenceTimesOutAndCancellingEndsIt() async throws {
        let server = SocketServer { peer in while !peer.read().isEmpty {} }
        let request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/", timeout: .milliseconds(200))
        await #expect {
            try await HTTPClient.send(request, options: options)
        } throws: { ($0 as? TransportError)?.code == .timedOut }
        let network = options
        let task = Task {
            try await HTTPClient.send(HTTPRequest(url: "http://127.0.0.1:\(server.port)/"), options: network)
        }
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? TransportError)?.code == .cancelled }
    }

    @Test func aHeaderLineWithoutEndIsTooLarge() async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nX: ")
            for _ in 0..<100 { peer.write([UInt8](repeating: 0x78, count: 65_536)) }
        }
        await #expect {
            try await HTTPClient.send(
                HTTPRequest(url: "http://127.0.0.1:\(server.port)/"), options: NetworkOptions(proxy: ""))
        } throws: { error in
            (error as? TransportError)?.code == .tooLarge && "\(error)".contains("header line of more than 100 KiB")
        }
    }

    @Test(arguments: [("X-A", "b\r\nX-B: c"), ("X\r\nY", "b"), ("", "b"), ("X-A", "b\u{0}")])
    func headersThatWouldBreakTheRequestAreRefused(name: String, value: String) async throws {
        var fields = HTTPFields()
        fields.append(name: name, value: value)
        await #expect {
            try await HTTPClient.send(HTTPRequest(url: "http://127.0.0.1:1/", fields: fields), options: options)
        } throws: { ($0 as? TransportError)?.code == .invalidRequest }
    }

    @Test func errorsHoldNoQueryAndNoPassword() async throws {
        await #expect {
            try await HTTPClient.send(
                HTTPRequest(url: "http://user:hunter2@127.0.0.1:1/?token=abc"), options: options)
        } throws: { error in
            !"\(error)".contains("hunter2") && !"\(error)".contains("abc")
        }
    }
}
