import Foundation
import MatrixSDK

/// The chat of an account: its continuously syncing session.
@MainActor
final class MatrixChat {
    let account: MatrixAccount
    let session: MXSession
    private let file: MXFileStore?
    private var agent: KeyAgent?

    /// The time to wait for a command that is about to end.
    static let patience = Duration.seconds(2)

    private init(_ account: MatrixAccount, _ session: MXSession, _ file: MXFileStore?, agent: KeyAgent?) {
        (self.account, self.session, self.file, self.agent) = (account, session, file, agent)
    }

    /// Opens the stored data without contacting the homeserver.
    ///
    /// - Parameter patience: How long to wait for another process that has the store.
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

    /// Syncs until ``close()``, retrying after every failure.
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

    /// Logs out: notifies the homeserver first, then deletes everything stored about the login.
    func logOut() async throws {
        try await session.logout()
        close()
        try account.removeLogin()
    }
}
