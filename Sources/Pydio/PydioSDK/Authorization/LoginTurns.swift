import PydioProtocol

/// Coordinates processes that share an account, so that only one logs in at a time.
package protocol LoginTurns: Sendable {
    /// Waits for this process's turn.
    func begin() async -> LoginTurn
    /// Ends the turn after a login, and stores the session for the other processes.
    func end(_ session: KeptSession)
}

/// The situation at the start of a process's turn.
package struct LoginTurn: Sendable {
    /// The session that another process has obtained meanwhile, which makes a login unnecessary.
    package let session: KeptSession?
    /// Whether the process had to wait for another one.
    package let hasWaited: Bool

    package init(session: KeptSession?, hasWaited: Bool) {
        (self.session, self.hasWaited) = (session, hasWaited)
    }
}

/// Whether calls of this task may log in although the server has refused the last login.
enum LoginRepetition {
    @TaskLocal static var isAllowed = true
}
