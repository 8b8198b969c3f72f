import CommandKit
import Foundation
import PusherMockServer

/// The life of a mock server that a command runs: it says where it listens and what happens, until Ctrl-C.
struct ServerRun: Sendable {
    /// Lines that may wait to be written, and about how many bytes they take; of more the oldest are left out.
    private static let (maximumLineCount, maximumSize) = (10_000, 4 << 20)
    /// How long lines that wait may take to be written when the server has stopped.
    private static let farewell = Duration.seconds(2)

    let configuration: PusherMockServer.Configuration
    /// Tells what happens, a line each.
    var isVerbose = false
    /// Standard output has JSON lines; otherwise what happens is told on standard error.
    var printsJSON = false
    var style = TextStyle(isColored: false)
    /// Other commands of the user's find it while it runs.
    var isKnown = false
    /// They find it at its next start, too.
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

    /// A server on this machine may be replaced by another, but nothing else that is called so.
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

    // MARK: What happens

    private func serveAndTell(_ server: PusherMockServer, _ settings: Settings) async {
        // Before anybody can know where it listens, so that nothing is missed.
        let entries = server.timedLog(
            limit: Self.maximumLineCount, maximumSize: Self.maximumSize,
            where: isVerbose ? ServerRecord.isShown : ServerRecord.isWarning)
        let (announced, announcing) = AsyncStream.makeStream(of: Void.self)
        let (written, writing) = AsyncStream.makeStream(of: Void.self)
        // On its own, and not waited for without bound: whoever has the output may not read it.
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

    /// Until the server has stopped, or nobody reads standard output any more.
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

    /// Returns when one of them has, and cancels the other.
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
    /// Why a server did not start, with the option to change.
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
