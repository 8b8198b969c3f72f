import Foundation
import PusherMockServer
import TestSupport
import Testing

/// Commands whose output is not read. They wait for a reader, but end on request.
@Suite(.overSockets)
struct UnreadOutputTests {
    /// A pipe that the test keeps open at both ends and never reads.
    private final class UnreadPipe {
        let path = FileManager.default.temporaryDirectory.appending(path: "unread-\(UUID())").path
        let descriptor: Int32

        init() {
            mkfifo(path, 0o600)
            descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        }

        deinit {
            close(descriptor)
            unlink(path)
        }
    }

    private func withBlockedCommand(
        _ arguments: [String], _ body: (CommandRun) async throws -> Void
    ) async throws {
        let server = try await PusherMockServer.start()
        let pipe = UnreadPipe()
        let descriptor = pipe.descriptor
        let run = try CommandRun(
            arguments + [
                "--no-tls", "--host", "127.0.0.1", "--port", "\(server.port)", "--key", PusherMockServer.App.defaultKey,
            ], outputFile: pipe.path)
        #expect(await server.waitFor { $0.channels() == ["c"] })
        for _ in 0..<40 { await server.publish(event: "e", channel: "c", data: String(repeating: "x", count: 9_000)) }
        #expect(await eventually { Self.isFull(descriptor) })
        try await body(run)
        withExtendedLifetime(pipe) {}
        await server.stop()
    }

    /// Whether a pipe is full, so that its writer waits.
    private static func isFull(_ descriptor: Int32) -> Bool {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&wanted, 1, 0) == 0
    }

    @Test(arguments: ["subscribe", "listen"], [SIGINT, SIGTERM, SIGHUP])
    func aSignalEndsACommandThatWaitsForItsReader(command: String, signal: Int32) async throws {
        try await withBlockedCommand([command, "c"]) { run in
            run.signal(signal)
            #expect(await run.status() == 0)
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
    func aSecondSignalEndsACommandAtOnce(signal: Int32) async throws {
        try await withBlockedCommand(["subscribe", "c"]) { run in
            // Two simultaneous signals count as one.
            let hasEnded = await eventually {
                run.signal(signal)
                return !run.isRunning
            }
            #expect(hasEnded)
            #expect(await run.status() == 130)
        }
    }

    @Test func aTimeLimitEndsACommandThatWaitsForItsReader() async throws {
        try await withBlockedCommand(["subscribe", "c", "--timeout", "5"]) { run in
            #expect(await run.status() == 0)
        }
    }

    @Test func beforeTheCountIsReachedASignalIsStatus130() async throws {
        try await withBlockedCommand(["subscribe", "c", "--count", "40"]) { run in
            run.interrupt()
            #expect(await run.status() == 130)
        }
    }
}
