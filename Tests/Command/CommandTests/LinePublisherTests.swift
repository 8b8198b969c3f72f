import Basics
import Foundation
import PusherMockServer
import TestSupport
import Testing

/// `trigger --lines`.
@Suite(.overSockets)
struct LinePublisherTests {
    private static let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private func run(
        _ arguments: [String], port: Int, input: String = "", keepsInput: Bool = false
    ) throws -> CommandRun {
        try CommandRun(
            arguments + ["--no-tls", "--host", "127.0.0.1", "--port", "\(port)"],
            environment: [
                "PUSHER_KEY": PusherMockServer.App.defaultKey, "PUSHER_SECRET": PusherMockServer.App.defaultSecret,
                "PUSHER_APP_ID": PusherMockServer.App.defaultID, "PUSHER_ENCRYPTION_MASTER_KEY": Self.masterKey,
            ], input: input, keepsInput: keepsInput)
    }

    private func withListener(
        of channel: String = "a", count: Int? = nil, _ body: (PusherMockServer, CommandRun) async throws -> Void
    ) async throws {
        let server = try await PusherMockServer.start()
        let listener = try run(
            ["subscribe", channel, "--raw"] + (count.map { ["--count", "\($0)"] } ?? []), port: server.port)
        #expect(await server.waitFor { $0.channels() == [channel] })
        do { try await body(server, listener) } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test(arguments: ["a", "private-encrypted-a"])
    func tenThousandLinesComeInOrder(channel: String) async throws {
        let lines = (1...(channel == "a" ? 10_000 : 500)).map { "line \($0)" }
        try await withListener(of: channel, count: lines.count) { server, listener in
            let publisher = try run(
                ["trigger", "--lines", channel, "e"], port: server.port, input: lines.joined(separator: "\n"))
            #expect(await publisher.status() == 0)
            #expect(publisher.errors == [])
            #expect(await listener.status() == 0)
            #expect(listener.output == lines)
        }
    }

    @Test func aLineGoesOutAsItComes() async throws {
        try await withListener { server, listener in
            let publisher = try run(["trigger", "--lines", "a", "e"], port: server.port, keepsInput: true)
            for line in ["one", "two", "three"] {
                try publisher.type(line + "\n")
                #expect(await listener.waitFor { $0.last == line })
            }
            try publisher.endInput()
            #expect(await publisher.status() == 0)
        }
    }

    @Test func aLineThatIsTooLongIsToldAndTheOthersGoOn() async throws {
        let long = String(repeating: "x", count: 10_241)
        let longest = String(repeating: "y", count: 10_240)
        try await withListener(count: 4) { server, listener in
            let publisher = try run(
                ["trigger", "--lines", "a", "e"], port: server.port, input: "1\n2\n\(long)\n\(longest)\n5\n")
            #expect(await publisher.status() == 65)
            #expect(
                publisher.errors == [
                    "error: line 3 was not published: it has 10241 bytes, at most 10240 are allowed",
                    "error: 4 lines published, 1 failed",
                ])
            #expect(await listener.status() == 0)
            #expect(listener.output == ["1", "2", longest, "5"])
        }
    }

    /// Base64 makes it too long, which only appears when the batch is built.
    @Test func aLineThatIsTooLongOnceEncryptedIsTold() async throws {
        try await withListener(of: "private-encrypted-a", count: 2) { server, listener in
            let publisher = try run(
                ["trigger", "--lines", "private-encrypted-a", "e"], port: server.port,
                input: "1\n\(String(repeating: "x", count: 9_000))\n3\n")
            #expect(await publisher.status() == 65)
            #expect(
                publisher.errors.first?.hasPrefix("error: line 2 was not published: the event's data has 12") == true)
            #expect(await listener.status() == 0)
            #expect(listener.output == ["1", "3"])
        }
    }

    /// A server that answers each request as `answer` specifies: with a status, or not at all.
    private func server(
        _ bodies: Lock<[String]>, _ answer: @escaping @Sendable (String, Int) -> String?
    ) -> SocketServer {
        SocketServer { peer in
            let head = peer.readHead()
            let length = head.lowercased().components(separatedBy: "content-length: ").last
                .flatMap { Int($0.prefix { $0.isNumber }) }
            var body: [UInt8] = []
            while body.count < length ?? 0 {
                let part = peer.read()
                if part.isEmpty { break }
                body += part
            }
            let text = String(decoding: body, as: UTF8.self)
            let number = bodies.withLock { bodies in
                bodies.append(text)
                return bodies.count
            }
            guard let status = answer(text, number) else { return }
            peer.write("HTTP/1.1 \(status)\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        }
    }

    private func lines(in body: String) -> [String] {
        let object = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: [[String: String]]]
        return object?["batch"]?.compactMap { $0["data"] } ?? []
    }

    @Test func aBatchThatIsRefusedGoesLineByLine() async throws {
        let bodies = Lock<[String]>([])
        let server = server(bodies) { body, _ in body.contains("bad") ? "400 Bad Request" : "200 OK" }
        let publisher = try run(
            ["trigger", "--lines", "a", "e"], port: server.port,
            input: (1...30).map { $0 == 17 ? "bad" : "\($0)" }.joined(separator: "\n"))
        #expect(await publisher.status() == 65)
        #expect(publisher.errors.count == 2)
        #expect(publisher.errors.first?.hasPrefix("error: line 17 was not published: the server answered") == true)
        #expect(publisher.errors.last == "error: 29 lines published, 1 failed")
        let taken = bodies.withLock { $0 }.filter { !$0.contains("bad") }.flatMap(lines)
        #expect(taken == (1...30).filter { $0 != 17 }.map(String.init))
    }

    @Test func whatIsNotAnsweredIsUncertainAndNotRepeated() async throws {
        let bodies = Lock<[String]>([])
        let server = server(bodies) { _, number in number == 2 ? nil : number == 3 ? "502 Bad Gateway" : "200 OK" }
        let publisher = try run(
            ["trigger", "--lines", "a", "e"], port: server.port,
            input: (1...60).map(String.init).joined(separator: "\n"))
        #expect(await publisher.status() == 69)
        #expect(bodies.withLock { $0 }.flatMap(lines) == (1...60).map(String.init))
        let uncertain = publisher.errors.filter { $0.contains("may or may not have been published") }
        #expect(uncertain.count == 2)
        let unanswered = bodies.withLock { lines(in: $0[1]) }
        #expect(uncertain.first?.contains("lines \(unanswered[0]) to \(unanswered[unanswered.count - 1]) may") == true)
        let failed = bodies.withLock { lines(in: $0[1]).count + lines(in: $0[2]).count }
        #expect(publisher.errors.last == "error: \(60 - failed) lines published, \(failed) failed")
    }

    @Test func aRefusedSignatureEndsIt() async throws {
        let bodies = Lock<[String]>([])
        let server = server(bodies) { _, number in number == 1 ? "200 OK" : "401 Unauthorized" }
        let publisher = try run(["trigger", "--lines", "a", "e"], port: server.port, keepsInput: true)
        try publisher.type("1\n")
        #expect(await eventually { bodies.withLock { $0.count } == 1 })
        try publisher.type("2\n")
        #expect(await publisher.status() == 77)
        #expect(publisher.errors.first?.hasPrefix("error: nothing from line 2 on was published: ") == true)
        #expect(publisher.errors.last == "error: 1 line published, 1 failed")
    }

    @Test func linesBehindARefusalAreCounted() async throws {
        let bodies = Lock<[String]>([])
        let server = server(bodies) { _, _ in "401 Unauthorized" }
        let publisher = try run(
            ["trigger", "--lines", "a", "e"], port: server.port,
            input: (1...25).map { "\($0)\n" }.joined())
        #expect(await publisher.status() == 77)
        let words = #/error: 0 lines published, (\d+) failed, (?:at least )?(\d+) not sent/#
        let counts = try #require(publisher.errors.last?.wholeMatch(of: words)).output
        #expect((Int(counts.1) ?? 0) + (Int(counts.2) ?? 0) == 25)
    }

    @Test func aBusyServerIsTriedAgain() async throws {
        let bodies = Lock<[String]>([])
        let server = server(bodies) { _, number in number == 1 ? "429 Too Many Requests" : "200 OK" }
        let publisher = try run(["trigger", "--lines", "a", "e"], port: server.port, input: "1\n")
        #expect(await publisher.status() == 0)
        #expect(bodies.withLock { $0 }.flatMap(lines) == ["1", "1"])
        #expect(publisher.errors.count == 1)
    }

    @Test func aServerThatGoesIsGivenUpAndOneThatComesBackIsNot() async throws {
        let server = try await PusherMockServer.start()
        let options = ["trigger", "--lines", "a", "e", "--retry-for"]
        let patient = try run(options + ["30"], port: server.port, keepsInput: true)
        let impatient = try run(options + ["0.2"], port: server.port, keepsInput: true)
        for publisher in [patient, impatient] { try publisher.type("1\n") }
        #expect(await server.waitFor { $0.history.count { if case .httpRequest = $0 { true } else { false } } == 2 })
        await server.stop()
        for publisher in [patient, impatient] { try publisher.type("2\n3\n") }
        #expect(await impatient.status() == 69)
        #expect(
            impatient.errors.contains { $0.hasPrefix("error: nothing from line 2 on was published: cannot connect") })
        #expect(await eventually { patient.errors.contains { $0.contains("trying again for up to 30") } })
        var configuration = server.configuration
        configuration.port = server.port
        let second = try await PusherMockServer.start(configuration)
        try patient.endInput()
        #expect(await patient.status() == 0)
        await second.stop()
    }

    @Test func ctrlCSaysHowFarItCame() async throws {
        try await withListener { server, listener in
            let publisher = try run(["trigger", "--lines", "a", "e"], port: server.port, keepsInput: true)
            try publisher.type("1\n2\n3\nnot a whole li")
            #expect(await listener.waitFor { $0 == ["1", "2", "3"] })
            publisher.interrupt()
            #expect(await publisher.status() == 130)
            #expect(publisher.errors == ["error: stopped after line 3: 3 lines published, 0 failed"])
            #expect(listener.output == ["1", "2", "3"])
        }
    }

    /// The rate would delay the second line for longer than the test waits.
    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSignalLeavesOutWhatHasNotBeenSent(signal: Int32) async throws {
        let bodies = Lock<[String]>([])
        let gate = DispatchSemaphore(value: 0)
        let server = server(bodies) { _, _ in
            gate.wait()
            return "200 OK"
        }
        let publisher = try run(
            ["trigger", "--lines", "a", "e", "--rate", "0.005"], port: server.port, input: "1\n2\n3\n",
            keepsInput: true)
        #expect(await eventually { bodies.withLock { $0.count } == 1 })
        // They have been read once the pipe is empty.
        #expect(await eventually { publisher.unreadInput == 0 })
        publisher.signal(signal)
        gate.signal()
        #expect(await publisher.status() == 130)
        #expect(bodies.withLock { $0 }.flatMap(lines) == ["1"])
        #expect(
            publisher.errors == ["error: stopped after line 1: 1 line published, 0 failed, at least 2 not sent"])
    }

    /// Two identical signals in quick succession may arrive as one.
    @Test(arguments: [true, false])
    func aSecondSignalEndsTheRequestAndStillReports(isThereMoreInput: Bool) async throws {
        let bodies = Lock<[String]>([])
        let gate = DispatchSemaphore(value: 0)
        let server = server(bodies) { _, _ in
            gate.wait()
            return "200 OK"
        }
        let publisher = try run(
            ["trigger", "--lines", "a", "e"], port: server.port, input: "1\n", keepsInput: isThereMoreInput)
        #expect(await eventually { bodies.withLock { $0.count } == 1 })
        publisher.signal(SIGINT)
        publisher.signal(SIGTERM)
        #expect(await publisher.status() == 130)
        gate.signal()
        #expect(publisher.errors.count == 2)
        #expect(publisher.errors.first?.hasPrefix("error: line 1 may or may not have been published") == true)
        #expect(publisher.errors.last == "error: stopped after line 1: 0 lines published, 1 failed")
    }

    @Test func ctrlCEndsTryingAgain() async throws {
        let bodies = Lock<[String]>([])
        let server = server(bodies) { _, _ in "429 Too Many Requests" }
        let publisher = try run(
            ["trigger", "--lines", "a", "e", "--retry-for", "600"], port: server.port, input: "1\n2\n",
            keepsInput: true)
        #expect(await eventually { publisher.errors.contains { $0.contains("trying again for up to 600") } })
        publisher.interrupt()
        #expect(await publisher.status() == 130)
        #expect(
            publisher.errors.last?.wholeMatch(
                of: #/error: stopped before line 1: 0 lines published, 0 failed, at least \d not sent/#) != nil,
            "\(publisher.errors)")
    }

    /// While a request is pending, only a few batches are read.
    @Test func readingWaitsForTheServer() async throws {
        let bodies = Lock<[String]>([])
        let gate = DispatchSemaphore(value: 0)
        let server = server(bodies) { _, number in
            if number == 1 { gate.wait() }
            return "200 OK"
        }
        let input = (1...2000).map { "this is line number \($0)\n" }.joined()
        let publisher = try run(["trigger", "--lines", "a", "e"], port: server.port, input: input, keepsInput: true)
        #expect(await eventually { bodies.withLock { $0.count } == 1 })
        let unread = publisher.unreadInput
        #expect(unread > input.utf8.count - 10_000, "\(unread)")
        gate.signal()
        try publisher.endInput()
        #expect(await publisher.status() == 0)
        #expect(bodies.withLock { $0 }.flatMap(lines).count == 2000)
    }

    @Test func theRateIsKept() async throws {
        try await withListener(count: 11) { server, listener in
            let start = ContinuousClock.now
            let publisher = try run(
                ["trigger", "--lines", "a", "e", "--rate", "20"], port: server.port,
                input: (1...11).map(String.init).joined(separator: "\n"))
            #expect(await publisher.status() == 0)
            #expect(ContinuousClock.now - start >= .milliseconds(500))
            #expect(await listener.status() == 0)
        }
    }

    @Test func severalChannelsGetEachLine() async throws {
        let bodies = Lock<[String]>([])
        let server = server(bodies) { _, _ in "200 OK" }
        let publisher = try run(
            ["trigger", "--lines", "a,b,c", "e"], port: server.port,
            input: (1...20).map(String.init).joined(separator: "\n"))
        #expect(await publisher.status() == 0)
        let batches = bodies.withLock { $0 }.map(lines)
        #expect(batches.allSatisfy { $0.count <= 10 })
        #expect(batches.flatMap(\.self) == (1...20).flatMap { Array(repeating: "\($0)", count: 3) })
    }

    private static let unpublishable = [
        ["a"], ["a", "e", "data"], ["a", "e", "--batch", "x"], ["a", "e", "--rate", "0"],
        ["a", "e", "--json"], ["a,b,c,d,e,f,g,h,i,j,k", "e"], ["a b", "e"], ["a", "pusher:e"],
    ]

    @Test(arguments: unpublishable)
    func whatCannotBePublishedIsSaidAtOnce(arguments: [String]) async throws {
        let publisher = try run(["trigger", "--lines"] + arguments, port: 1, keepsInput: true)
        #expect(await publisher.status() == 64)
        let other = try run(["trigger", "a", "e", "x", "--rate", "1"], port: 1)
        #expect(await other.status() == 64)
    }
}
