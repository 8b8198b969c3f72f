import PydioProtocol

/// Lets one process of several that share an account log in at a time.
package protocol LoginTurns: Sendable {
    /// Returns when it is this process's turn.
    func begin() async -> LoginTurn
    /// The login is over: keeps the session for the others, whose turn it is then.
    func end(_ session: KeptSession)
}

/// What a process finds when it may log in.
package struct LoginTurn: Sendable {
    /// What another process has got meanwhile: there is no need to log in.
    package let session: KeptSession?
    /// Whether it had to wait for another.
    package let hasWaited: Bool

    package init(session: KeptSession?, hasWaited: Bool) {
        (self.session, self.hasWaited) = (session, hasWaited)
    }
}

/// Whether a call of this task may log in although the server has refused the last login.
enum LoginRepetition {
    @TaskLocal static var isAllowed = true
}
