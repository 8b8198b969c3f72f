import NIOCore
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

    /// Revokes all key pairs.
    package func revokeKeyPairs() { core.state.withLock { $0.keyPairs.revokeAll() } }

    // MARK: Changes and messages

    /// Lets somebody do something, as if it had been asked for with these parameters; all who listen are told.
    ///
    /// - Returns: The answer's body.
    @discardableResult
    package func act(
        _ action: String, _ parameters: KeyValuePairs<String, String>, in workspace: String = "0",
        as user: String = "bob"
    ) -> String {
        let answer: FakePydioAnswer? = core.state.withLock { state in
            guard let user = state.user(user), let workspace = state.workspace(workspace) else { return nil }
            var form = FormParameters()
            for (name, value) in parameters { form.append(name, value) }
            let request = FakePydioRequest(
                method: "POST", rawPath: "/", query: FormParameters(), form: form, fields: [], cookies: [:],
                upload: nil,
                bodySize: 0, address: "")
            let call = Call(
                request: request, parameters: form, user: user, workspace: workspace, session: nil, now: state.now)
            return state.answer(Action(rawValue: action), to: call)
        }
        core.deliver()
        guard case .bytes(let bytes) = answer?.body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sends a message to all who listen to a workspace: one XML element.
    package func post(_ xml: String, in workspace: String = "0", user: String = "ada") {
        core.state.withLock { state in
            guard let workspace = state.workspace(workspace) else { return }
            state.post(xml, to: TreeKey(workspace: workspace, user: user))
        }
        core.deliver()
    }

    /// The changes feed begins anew, as after a new installation.
    package func resetChanges() { core.state.withLock { $0.changes.reset() } }

    /// The highest number of the changes feed.
    package var lastChange: Int { core.state.withLock { $0.changes.last } }

    /// Clients that poll, by the ids that they have chosen.
    package var pollers: [String] { core.state.withLock { $0.mailboxes.keys.map(\.client).sorted() } }

    /// Open WebSockets, and the workspace that each has registered for.
    package var webSockets: [String?] {
        core.state.withLock { state in state.peers.sorted { $0.key < $1.key }.map { $0.value.tree?.workspace } }
    }

    /// All texts that came on WebSockets.
    package var webSocketTexts: [String] { core.state.withLock { $0.webSocketTexts } }

    /// Closes all WebSockets, without a word.
    package func dropWebSockets() {
        for channel in core.sockets.withLock({ Array($0.values) }) { channel.close(promise: nil) }
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
