import PusherSwift

/// One connection, looked at step by step.
struct Examination: Sendable {
    let pusher: Pusher
    let timeout: Duration
    let prints: @Sendable (Finding) -> Void

    func run(channels: [String], signsIn: Bool) async -> ExitStatus {
        prints(Finding(step: "server", isFine: true, detail: serverWithoutQuery))
        do {
            try await pusher.connected()
        } catch {
            tellSteps()
            return fail("connection", error)
        }
        tellSteps()
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
        if signsIn { status = await check("sign-in") { "as \(try await pusher.user.signedIn())" } }
        for channel in channels {
            let outcome = await check(channel) {
                try await pusher.subscribe(channel).subscribed()
                let members = pusher.connection.channels.findPresence(name: channel)?.members.count
                return "subscribed" + (members.map { $0 == 1 ? ", 1 member" : ", \($0) members" } ?? "")
            }
            if outcome != .done { status = outcome }
        }
        return status
    }

    /// The key is in the path, and is no secret.
    private var serverWithoutQuery: String { String(pusher.connection.url.prefix { $0 != "?" }) }

    private func tellSteps() {
        let steps = pusher.connection.steps
        func tell(_ step: String, _ took: Duration?, _ detail: String) {
            if let took { prints(Finding(step: step, isFine: true, detail: detail, took: took)) }
        }
        tell("name lookup", steps.nameLookup, steps.address ?? "-")
        tell("TCP", steps.tcp, "connected")
        tell("TLS", steps.tls, "certificate trusted")
        tell("WebSocket", steps.webSocket, "upgraded")
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
        try await withDeadline(timeout, failure: { CommandFailure(.timedOut, "no answer in time") }, work)
    }

    private func fail(_ step: String, _ error: any Error) -> ExitStatus {
        prints(Finding(step: step, isFine: false, detail: "\(error)"))
        return (error as? any ReportableError)?.exitStatus ?? .unavailable
    }
}
