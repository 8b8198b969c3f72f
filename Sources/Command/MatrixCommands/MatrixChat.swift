import Foundation
import MatrixSDK

/// A chat of an account: its session, which goes on by itself.
@MainActor
final class MatrixChat {
    let account: MatrixAccount
    let session: MXSession
    private let file: MXFileStore?
    private var agent: KeyAgent?

    /// A command that is about to end is waited for.
    static let patience = Duration.seconds(2)

    private init(_ account: MatrixAccount, _ session: MXSession, _ file: MXFileStore?, agent: KeyAgent?) {
        (self.account, self.session, self.file, self.agent) = (account, session, file, agent)
    }

    /// Opens what is stored. The homeserver is not asked yet.
    ///
    /// - Parameter patience: How long another process that has the store is waited for.
    /// - Throws: If another process has the keys of the login.
    static func open(_ account: MatrixAccount, patience: Duration = patience) async throws -> MatrixChat {
        let session = account.makeSession(beginsEncryption: true)
        let store = await account.openStore(of: session, patience: patience)
        guard !store.ownerNeedsKeys else {
            session.close()
            throw account.isListenedTo
        }
        var agent: KeyAgent?
        if store.file != nil, session.hasKeys {
            agent = try? await KeyAgent.start(SessionKeys(session: session, account: account), for: account.store)
        }
        return MatrixChat(account, session, store.file, agent: agent)
    }

    /// Syncs until ``close()``, over every outage.
    func start() {
        let (account, session, file) = (account, session, file)
        Task {
            try? await session.start()
            await account.mentionVerificationOnceKnown(of: session, in: file)
        }
    }

    func close() {
        agent?.stop()
        session.close()
    }

    /// Logs out: the homeserver is told first, then everything that is kept of the login goes.
    func logOut() async throws {
        try await session.logout()
        close()
        try account.removeLogin()
    }
}
