import Basics

/// Reading and ending sessions from outside.
extension FakePydioServer {
    /// Forgets all sessions, as if they had expired or the server had restarted.
    package func expireSessions() { core.state.withLock { $0.sessions.removeAll() } }

    /// Forgets the logins that outlive their sessions.
    package func forgetRememberedLogins() { core.state.withLock { $0.remembered.removeAll() } }

    /// Replaces each session's secure token by one that no client knows.
    package func expireTokens() {
        core.state.withLock { state in
            state.sessions.changeAll { if !$0.tokens.isEmpty { $0.tokens = [Digest.random(32)] } }
        }
    }

    /// Like ``expireTokens()``, but only for the session with this token, if any.
    package func forgetToken(_ token: String) {
        core.state.withLock { state in
            state.sessions.changeAll { if $0.tokens.contains(token) { $0.tokens = [Digest.random(32)] } }
        }
    }

    /// Requires a captcha for the next login; a success ends this.
    package func forceCaptcha() { core.state.withLock { $0.failures.isCaptchaForced = true } }

    /// The text of the newest captcha image.
    package var captchaCode: String? { core.state.withLock { $0.captchaCode } }

    /// Sets a listener that receives the text of each captcha image, on the server's thread.
    package func onCaptcha(_ listener: @escaping @Sendable (String) -> Void) { core.onCaptcha(listener) }

    /// Advances the time of mailboxes, failed logins and modification times.
    package func advanceClock(by duration: Duration) {
        core.state.withLock { $0.clockOffset += Int(duration.components.seconds) }
    }

    /// Revokes all key pairs.
    package func revokeKeyPairs() { core.state.withLock { $0.keyPairs.revokeAll() } }

    /// A session as stored by the server.
    package struct Session: Sendable {
        package let id: String
        package let user: String?
        package let tokens: [String]
        package let workspace: String?
    }

    /// The sessions in order of creation.
    package var sessions: [Session] {
        core.state.withLock { state in
            state.sessions.all.sorted { $0.value.number < $1.value.number }.map {
                Session(id: $0.key, user: $0.value.user, tokens: $0.value.tokens, workspace: $0.value.workspace)
            }
        }
    }
}
