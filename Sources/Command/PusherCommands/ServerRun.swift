import CommandKit
import Foundation
import PusherMockServer

/// Runs a mock server for a command: prints its address and events until Ctrl-C.
struct ServerRun: Sendable {
    /// The maximum number of waiting lines, and their approximate size in bytes. Beyond that, the oldest are dropped.
    private static let (maximumLineCount, maximumSize) = (10_000, 4 << 20)
    /// The time limit for writing waiting lines after the server has stopped.
    private static let farewell = Duration.seconds(2)

    let configuration: PusherMockServer.Configuration
    /// Whether to print all events, one per line.
    var isVerbose = false
    /// Whether to print JSON lines on standard output instead of text on standard error.
    var printsJSON = false
    var style = TextStyle(isColored: false)
    /// Whether the user's other commands can find the server while it runs.
    var isKnown = false
    /// Whether they can also find it at its next start.
    var keepsContext = false

    func callAsFunction() async throws {
        DescriptorLimit.raise()
        let server: PusherMockServer
        do throws(PusherMockServerError) {
            server = try await PusherMockServer.start(configuration)
        } catch {
            throw CommandFailure(error)
        }
        if !server.isOnLoopback {
            StandardError.write(
                "warning: anyone who can reach \(server.host) can join every channel; this server is for development")
        }
        let settings = Settings(of: server)
        let served = isKnown ? ServedApplication(settings) : nil
        defer { served?.end() }
        if keepsContext { Self.keepContext(settings) }
        await serveAndTell(server, settings)
    }

    /// Replaces an existing context of this name only if it is for a server on this machine.
    private static func keepContext(_ settings: Settings) {
        let name = "local"
        do throws(CommandFailure) {
            try ContextFile().change { (contents) throws(CommandFailure) in
                if let old = contents.contexts[name], old.host != settings.host {
                    throw CommandFailure(.badData, "the context “\(name)” is for \(old.serverName)")
                }
                contents.contexts[name] = settings
                contents.current = name
            }
        } catch {
            StandardError.write("warning: the context is not saved: \(error)")
        }
    }

    private func announce(_ server: PusherMockServer, _ settings: Settings) -> Bool {
        defer {
            if isKnown, isVerbose || StatusLine.isShown {
                StandardError.write("Try: \(settings.commandLine("subscribe", "my-channel"))")
            }
        }
        let access = isKnown ? settings.publicAccess : []
        guard printsJSON else {
            return StandardOutput.write("listening on \(Self.address(server.host, server.port))")
                && access.allSatisfy { field in StandardOutput.write("\(field.label)\(field.value)") }
        }
        var line = JSONLine(type: "listening")
        line.add("host", server.host)
        line.add("port", server.port)
        for field in access { line.add(field.name, field.value) }
        return StandardOutput.write(json: line.text)
    }

    static func address(_ host: String, _ port: Int) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    // MARK: Events

    private func serveAndTell(_ server: PusherMockServer, _ settings: Settings) async {
        // Before the address is announced, so that no event is missed.
        let entries = server.timedLog(
            limit: Self.maximumLineCount, maximumSize: Self.maximumSize,
            where: isVerbose ? ServerRecord.isShown : ServerRecord.isWarning)
        let (announced, announcing) = AsyncStream.makeStream(of: Void.self)
        let (written, writing) = AsyncStream.makeStream(of: Void.self)
        // In a separate task with a bounded wait, because the output may not be read.
        let writer = Task {
            defer { writing.finish() }
            for await _ in announced {}
            await write(entries)
        }
        await first {
            await SignalWatch.wait {
                defer { announcing.finish() }
                return announce(server, settings)
            }
        } or: {
            for await _ in written {}
        }
        await server.stop()
        await first {
            for await _ in written {}
        } or: {
            try? await Task.sleep(for: Self.farewell)
        }
        writer.cancel()
    }

    /// Writes entries until the server has stopped or the reader of standard output is gone.
    private func write(_ entries: AsyncStream<TimedLogEntry>) async {
        for await entry in entries {
            guard let record = ServerRecord(entry) else { continue }
            if ServerRecord.isWarning(entry.entry) { StandardError.write("warning: \(record.detail)") }
            guard isVerbose else { continue }
            if printsJSON {
                guard StandardOutput.write(json: record.json) else { return }
            } else {
                StandardError.write(record.text(style: style))
            }
        }
    }

    /// Returns when one of the two has returned, and cancels the other.
    private func first(
        _ one: @escaping @Sendable () async -> Void, or other: @escaping @Sendable () async -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await one() }
            group.addTask { await other() }
            await group.next()
            group.cancelAll()
        }
    }
}

extension CommandFailure {
    /// Describes why a server did not start, and which option to change.
    init(_ error: PusherMockServerError) {
        let (status, advice): (ExitStatus, String?) =
            switch error.code {
            case .portInUse, .portNotPermitted:
                (.unavailable, "choose another one with --port; --port 0 takes any free one")
            case .addressUnavailable:
                (.unavailable, "choose another one with --host; without it the server listens on 127.0.0.1")
            case .bind, .unknownConnection, .unknownApp: (.unavailable, nil)
            case .certificate: (.badData, "--certificate takes a PEM file with the certificate chain, leaf first")
            case .privateKey:
                (.badData, "--private-key takes a PEM file with the certificate's private key, not encrypted")
            case .tlsUnavailable: (.unavailable, nil)
            case .invalidConfiguration, .invalidScript: (.badData, nil)
            }
        let message =
            error.code == .tlsUnavailable
            ? "--certificate and --private-key cannot be used: this pusher-cli was built without TLS for servers"
            : error.message
        self.init(status, [message, advice].compactMap { $0 }.joined(separator: "; "))
    }
}
