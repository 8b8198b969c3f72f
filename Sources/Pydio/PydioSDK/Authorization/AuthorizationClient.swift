import Basics
import CurlTransport
import Logging
import PeerLog
import PydioProtocol
import Transport

/// Logs in when needed, once for all callers: the shell of ``AuthorizationMachine``.
final class AuthorizationClient: Sendable {
    let connection: ServerConnection
    let session: ServerSession
    private let kind: PydioAuthentication
    private let logger: Logger?
    private let turns: (any LoginTurns)?

    init(_ connection: ServerConnection, session: ServerSession, options: PydioClientOptions) {
        self.connection = connection
        self.session = session
        kind = options.authentication
        logger = options.logger
        turns = options.loginTurns
    }

    // MARK: Calls

    /// Returns the pass to send a call with now.
    func pass() -> (AuthorizationMachine.Pass, RequestPass) {
        let nonce = ServerConnection.randomText()
        return session.read { [kind] machine in
            let pass = machine.pass(as: kind)
            return (pass, machine.requestPass(pass, nonce: nonce, now: .now))
        }
    }

    /// Stores the cookies of an answer to a call.
    func take(_ response: HTTPResponse, of pass: AuthorizationMachine.Pass) {
        session.change { [connection] in
            $0.take(
                response.fields, of: pass, from: connection.server, now: .now, seconds: ServerConnection.timeOfDay)
        }
    }

    /// The texts that no error may quote.
    var secrets: [String] { session.read { $0.secrets } }

    /// Whether a call could succeed: there is a user to log in, or an earlier login.
    var canAuthorize: Bool {
        session.read { [kind] machine in
            let pass = machine.pass(as: kind)
            return machine.user != nil || pass.keystoreToken != nil || pass.secureToken != nil
                || !machine.cookies.cookies(now: .now).isEmpty
        }
    }

    /// Whether a call would be sent without any authorization.
    var hasNoPass: Bool {
        session.read { [kind] machine in
            let pass = machine.pass(as: kind)
            return pass.keystoreToken == nil && pass.secureToken == nil
        }
    }

    /// Returns whether this pass has been replaced, or will be.
    func isOvertaken(_ pass: AuthorizationMachine.Pass) -> Bool {
        session.read { $0.generation != pass.generation }
    }

    /// Handles a refused call. Returns when the call can be sent again.
    func recover(_ pass: AuthorizationMachine.Pass, _ refusal: AuthorizationMachine.Refusal) async throws {
        let repeatsLogin = LoginRepetition.isAllowed
        try await carryOut { [kind] in $0.refused(pass, refusal, as: kind, repeatsLogin: repeatsLogin) }
    }

    /// Logs in, regardless of the current session.
    func authorize() async throws {
        try await carryOut { [kind] in $0.authorize(as: kind) }
    }

    /// Logs in with the code of a captcha, after the current attempt, whatever its result.
    func login(captcha: String) async throws {
        while true {
            let (action, version) = session.ask { [kind] in $0.login(captcha: captcha, as: kind) }
            guard action == .wait else { return try await carryOut(action, since: version) }
            try? await session.end(since: version)
            if Task.isCancelled { throw PydioError.cancelled }
        }
    }

    private func carryOut(
        _ question: @Sendable (inout AuthorizationMachine) -> AuthorizationMachine.CallAction
    ) async throws {
        let (action, version) = session.ask(question)
        try await carryOut(action, since: version)
    }

    private func carryOut(_ action: AuthorizationMachine.CallAction, since version: Int) async throws {
        switch action {
        case .retry: break
        case .fail(let error): throw error
        case .wait: try await session.end(since: version)
        case .begin(let order):
            // In its own task: others also wait for it, and cancelling one caller must not end it.
            Task { await self.make(order) }
            try await session.end(since: version)
        }
    }

    // MARK: The attempt

    private func make(_ first: AuthorizationMachine.Order) async {
        // The code of a captcha belongs to this process's session.
        guard let turns, first.step != .login else { return await makeAlone(first) }
        let turn = await turns.begin()
        if let kept = turn.session {
            _ = session.progress { $0.adopt(kept, for: first) }
        } else {
            if turn.hasWaited { session.change { $0.allowRepetition(of: first) } }
            await makeAlone(first)
        }
        turns.end(
            session.read {
                KeptSession(
                    cookies: $0.cookies.cookies(now: .now), secureToken: $0.secureToken, keystoreToken: $0.keystoreToken
                )
            })
    }

    private func makeAlone(_ first: AuthorizationMachine.Order) async {
        var order = first
        while true {
            switch await progress(of: order) {
            case .send(let next): order = next
            case .done, .failed, .none: return
            }
        }
    }

    private func progress(of order: AuthorizationMachine.Order) async -> AuthorizationMachine.Progress {
        let wanted = session.read { machine in
            machine.request(for: order, now: .now).map { ($0, $1, machine.showsPassword(order)) }
        }
        guard let (request, pass, showsPassword) = wanted else {
            return session.progress { $0.failed(order, Self.interrupted) }
        }
        if showsPassword { warnOfClearPassword() }
        do throws(PydioError) {
            let response = try await connection.send(request, as: pass)
            return session.progress { [connection] in
                $0.answered(
                    order, response, from: connection.server, now: .now, seconds: ServerConnection.timeOfDay)
            }
        } catch {
            return session.progress { $0.failed(order, error) }
        }
    }

    /// Warns that a password is about to be sent in the clear.
    func warnOfClearPassword() {
        guard !connection.server.isSecure, session.warnsNow() else { return }
        logger?.report(
            .warning, "the server wants the password over a connection that is not encrypted",
            ["pydio.server": "\(connection.server.host)"])
    }

    private static let interrupted = PydioError(
        .unableToLogin, "the seed was cleared while a login was under way; the next call begins anew")
}
