import Transport

/// What a test makes the server do.
extension FakePydioServer {
    /// Changes what the server is like from the next request on.
    package func configure(_ change: (inout Configuration) -> Void) {
        core.state.withLock { change(&$0.configuration) }
    }

    package var configuration: Configuration { core.state.withLock { $0.configuration } }

    // MARK: Faults

    /// Lets something go wrong with requests of one action, or of all.
    ///
    /// - Parameters:
    ///   - action: As in `get_action`; nil is every one.
    ///   - times: How many requests; nil is all from then on.
    ///   - skipped: How many are left alone before.
    package func inject(_ fault: Fault, into action: String? = nil, times: Int? = 1, after skipped: Int = 0) {
        core.state.withLock { $0.faults.add(fault, to: action, times: times, after: skipped) }
    }

    package func clearFaults() { core.state.withLock { $0.faults.clear() } }

    /// Asked before everything; nil lets the server answer. It is called on the server's thread.
    package func setGate(_ gate: (@Sendable (FakePydioRequest) -> FakePydioAnswer?)?) { core.setGate(gate) }

    /// Gives all answers that ``Fault/hold`` holds back. What was asked is done only then.
    package func release() { core.release() }
    /// Answers that are held back.
    package var heldCount: Int { core.heldCount }

    // MARK: Sessions

    /// Forgets all sessions, as if they had expired or the server had been started anew.
    package func expireSessions() { core.state.withLock { $0.sessions.removeAll() } }

    /// Gives each session another secure token, which nobody has been told.
    package func expireTokens() {
        core.state.withLock { state in
            state.sessions.changeAll { if !$0.tokens.isEmpty { $0.tokens = [Digest.random(32)] } }
        }
    }

    /// The same for the session that has this one, if any has.
    package func forgetToken(_ token: String) {
        core.state.withLock { state in
            state.sessions.changeAll { if $0.tokens.contains(token) { $0.tokens = [Digest.random(32)] } }
        }
    }

    /// The next login needs a captcha; a success ends that.
    package func forceCaptcha() { core.state.withLock { $0.failures.isCaptchaForced = true } }

    /// What the newest captcha image shows.
    package var captchaCode: String? { core.state.withLock { $0.captchaCode } }

    /// Called with what each captcha image shows, on the server's thread.
    package func onCaptcha(_ listener: @escaping @Sendable (String) -> Void) { core.onCaptcha(listener) }

    /// Lets time pass for mailboxes, failed logins and modification times.
    package func advanceClock(by duration: Duration) {
        core.state.withLock { $0.clockOffset += Int(duration.components.seconds) }
    }

    // MARK: What it was asked

    /// All requests so far, in the order in which they were complete; without the files in them.
    package var requests: [FakePydioRequest] { core.state.withLock { $0.requests } }

    package func requests(_ action: String) -> [FakePydioRequest] { requests.filter { $0.action == action } }

    /// How often an action was asked for.
    package func count(_ action: String) -> Int { core.state.withLock { $0.requestCounts[action] ?? 0 } }

    package func forgetRequests() {
        core.state.withLock { state in
            state.requests = []
            state.requestCounts = [:]
        }
    }

    /// A session as the server has it.
    package struct Session: Sendable {
        package let id: String
        package let user: String?
        package let tokens: [String]
        package let workspace: String?
    }

    package var sessions: [Session] {
        core.state.withLock { state in
            state.sessions.all.sorted { $0.value.number < $1.value.number }.map {
                Session(id: $0.key, user: $0.value.user, tokens: $0.value.tokens, workspace: $0.value.workspace)
            }
        }
    }

    package var connectionCount: Int { core.connections.count }
}
