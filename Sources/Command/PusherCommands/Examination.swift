import CommandKit
import PusherSwift

/// Examines a connection step by step.
struct Examination: Sendable {
    let pusher: Pusher
    let timeout: Duration
    let prints: @Sendable (Finding) -> Void

    func run(channels: [String], signsIn: Bool) async -> ExitStatus {
        prints(Finding(step: "server", isFine: true, detail: serverWithoutQuery))
        do {
            try await pusher.connected()
        } catch {
            let showsKey = await tellSteps()
            let isUntrusted = showsKey && pusher.connection.steps.tls == nil
            return fail("connection", error, hint: isUntrusted ? "; to trust exactly this key, use --pin" : "")
        }
        _ = await tellSteps()
        prints(
            Finding(
                step: "socket id", isFine: true, detail: pusher.connection.socketId ?? "-",
                took: pusher.connection.steps.established))
        do {
            let latency = try await deadline { try await pusher.connection.ping() }
            prints(Finding(step: "ping", isFine: true, detail: "answered", took: latency))
        } catch {
            return fail("ping", error)
        }
        var status = ExitStatus.done
        if signsIn {
            StatusLine.wait(for: "the sign-in")
            status = await check("sign-in") { "as \(try await pusher.user.signedIn())" }
        }
        for channel in channels where !Task.isCancelled {
            StatusLine.wait(for: "the subscription of \(channel)")
            let outcome = await check(channel) {
                try await pusher.subscribe(channel).subscribed()
                let members = pusher.connection.channels.findPresence(name: channel)?.members.count
                return "subscribed" + (members.map { $0 == 1 ? ", 1 member" : ", \($0) members" } ?? "")
            }
            status = status.worse(outcome)
        }
        return status
    }

    /// The key in the path is not secret.
    private var serverWithoutQuery: String { String(pusher.connection.url.prefix { $0 != "?" }) }

    /// Returns whether the server presented a TLS key.
    private func tellSteps() async -> Bool {
        let steps = pusher.connection.steps
        func tell(_ step: String, _ took: Duration?, _ detail: String) {
            if let took { prints(Finding(step: step, isFine: true, detail: detail, took: took)) }
        }
        tell("name lookup", steps.nameLookup, steps.address ?? "-")
        tell("TCP", steps.tcp, "connected")
        let isPinned = pusher.connection.options.pinnedKey != nil
        tell("TLS", steps.tls, isPinned ? "the key is the pinned one" : "certificate trusted")
        // Without an address there is no server to ask. One that did not answer gets less time.
        let patience = min(timeout, .seconds(5))
        let key = steps.nameLookup == nil ? nil : await pusher.connection.serverKey(timeout: patience)
        if let key { prints(Finding(step: "TLS key", isFine: true, detail: key.description)) }
        tell("WebSocket", steps.webSocket, "upgraded")
        return key != nil
    }

    private func check(_ step: String, _ work: @escaping @Sendable () async throws -> String) async -> ExitStatus {
        let start = ContinuousClock.now
        do {
            let detail = try await deadline(work)
            prints(Finding(step: step, isFine: true, detail: detail, took: ContinuousClock.now - start))
            return .done
        } catch {
            return fail(step, error)
        }
    }

    private func deadline<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        // Slightly longer than the client's own timeouts, which are more specific.
        try await withDeadline(
            timeout + .seconds(1), failure: { CommandFailure(.unavailable, "no answer in \(timeout.seconds)") }, work)
    }

    private func fail(_ step: String, _ error: any Error, hint: String = "") -> ExitStatus {
        guard !Task.isCancelled else { return .interrupted }
        prints(Finding(step: step, isFine: false, detail: Complaint.text(error) + hint))
        return (error as? any ReportableError)?.exitStatus ?? .unavailable
    }
}

extension Duration {
    /// The duration, such as `15.0 s`.
    fileprivate var seconds: String { Seconds.text(self / .seconds(1)) }
}
