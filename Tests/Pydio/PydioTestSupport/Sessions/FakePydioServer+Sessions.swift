import Basics

/// The sessions, looked at and ended from outside.
extension FakePydioServer {
    /// Forgets all sessions, as if they had expired or the server had been started anew.
    package func expireSessions() { core.state.withLock { $0.sessions.removeAll() } }

    /// Forgets the logins that outlive their sessions.
    package func forgetRememberedLogins() { core.state.withLock { $0.remembered.removeAll() } }

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

    /// A session as the server has it.
    package struct Session: Sendable {
        package let id: String
        package let user: String?
        package let tokens: [String]
        package let workspace: String?
    }

    /// In the order in which they began.
    package var sessions: [Session] {
        core.state.withLock { state in
            state.sessions.all.sorted { $0.value.number < $1.value.number }.map {
                Session(id: $0.key, user: $0.value.user, tokens: $0.value.tokens, workspace: $0.value.workspace)
            }
        }
    }
}
