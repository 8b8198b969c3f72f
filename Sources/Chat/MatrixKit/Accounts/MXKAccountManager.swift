public import Foundation
public import MatrixProtocol
import MatrixSDK

extension Notification.Name {
    /// An account was added; the object is the account.
    public static let mxkAccountManagerDidAddAccount = Notification.Name("kMXKAccountManagerDidAddAccountNotification")
    /// An account was removed; the object is the account.
    public static let mxkAccountManagerDidRemoveAccount = Notification.Name(
        "kMXKAccountManagerDidRemoveAccountNotification")
    /// The tokens of an account are not valid any more, but its device lives; the object is the account.
    public static let mxkAccountManagerDidSoftlogoutAccount = Notification.Name(
        "kMXKAccountManagerDidSoftlogoutAccountNotification")
}

/// The accounts of a program, kept in a folder that is its owner's alone: `accounts.json`, and a store for each.
///
/// Several processes may have the same folder. Each writes the accounts alone that it has changed; the store of an account is
/// used by one of them: see ``MXKAccount/storeState``.
@MainActor
open class MXKAccountManager {
    private static let sharedManager = MXKAccountManager(
        folder: MXFileStore.defaultFolder.deletingLastPathComponent().appending(path: "matrixkit"))

    /// The program's, in `matrixkit` of `$XDG_DATA_HOME`, or of `~/.local/share`.
    public static func shared() -> MXKAccountManager { sharedManager }

    /// All accounts, in the order in which they were added.
    public private(set) var accounts: [MXKAccount] = []
    /// Accounts that can be used: neither disabled nor softly logged out.
    public var activeAccounts: [MXKAccount] { accounts.filter { !$0.isDisabled && !$0.isSoftLogout } }
    /// Why the file was not read, or not written, in words; nil if all is well.
    public private(set) var fileTrouble: String?

    private let folder: URL
    private let file: AccountsFile
    /// Users whose records are other ones here than in the file.
    private var changedUsers: Set<String> = []
    private var removals: [ObjectIdentifier: Task<Void, Never>] = [:]

    /// - Parameter folder: Is made when something is put there.
    public init(folder: URL) {
        self.folder = folder
        file = AccountsFile(in: folder)
        load()
    }

    private var storesFolder: URL { folder.appending(path: "stores") }

    private func load() {
        do throws(MatrixError) {
            let records = try file.read()
            accounts = records.map { record in
                let account = accounts.first { $0.userId == record.credentials.userId } ?? MXKAccount(record)
                account.manager = self
                return account
            }
        } catch {
            fileTrouble = error.message
            NotificationCenter.default.postMXKError(error, userId: nil)
        }
    }

    // MARK: Sessions

    /// Opens the sessions of the active accounts, each with a store of its own.
    open func prepareSessionForActiveAccounts() {
        for account in activeAccounts { account.openSession(withStore: MXFileStore(folder: storesFolder)) }
    }

    /// Who has the store of an account, if somebody else does.
    func ownerState(of account: MXKAccount) -> MXKAccountStoreState? {
        switch MXFileStore.ownership(of: account.userId, in: storesFolder) {
        case .free: nil
        case .owned(let process): .inUse(process: process)
        }
    }

    // MARK: The file

    /// Writes what has changed. What is changed by accounts themselves is written at once.
    open func saveAccounts() { try? write() }

    func changed(_ account: MXKAccount) {
        guard accounts.contains(where: { $0 === account }) else { return }
        changedUsers.insert(account.userId)
        try? write()
    }

    /// Failures are ``fileTrouble``, and what was not written is tried again with the next change.
    func write() throws(MatrixError) {
        guard !changedUsers.isEmpty else { return }
        do throws(MatrixError) {
            try file.update { records in
                for user in changedUsers {
                    let new = accounts.first { $0.userId == user }?.record
                    let index = records.firstIndex { $0.credentials.userId == user }
                    switch (index, new) {
                    case (let index?, let new?): records[index] = new
                    case (let index?, nil): records.remove(at: index)
                    case (nil, let new?): records.append(new)
                    case (nil, nil): break
                    }
                }
            }
            changedUsers = []
            fileTrouble = nil
        } catch {
            fileTrouble = error.message
            NotificationCenter.default.postMXKError(error, userId: nil)
            throw error
        }
    }

    /// Reads the file again: accounts that another process has added come, those that it has removed are closed, and those whose
    /// tokens it has changed go on with these.
    open func forceReloadAccounts() {
        let old = accounts
        load()
        for account in old where !accounts.contains(where: { $0 === account }) {
            account.manager = nil
            account.closeSession(false)
            NotificationCenter.default.post(name: .mxkAccountManagerDidRemoveAccount, object: account)
        }
        let records = (try? file.read()) ?? []
        for account in accounts {
            guard let record = records.first(where: { $0.credentials.userId == account.userId }) else { continue }
            if !changedUsers.contains(account.userId), record != account.record { account.adopt(record) }
            if !old.contains(where: { $0 === account }) {
                NotificationCenter.default.post(name: .mxkAccountManagerDidAddAccount, object: account)
            }
        }
    }

    // MARK: Coming and going

    /// Keeps an account, in the place of an earlier one of the same user.
    open func addAccount(_ account: MXKAccount, andOpenSession openSession: Bool) {
        guard !account.userId.isEmpty, !accounts.contains(where: { $0 === account }) else { return }
        if let earlier = self.account(forUserId: account.userId) {
            earlier.closeSession(false)
            earlier.manager = nil
            accounts.removeAll { $0 === earlier }
        }
        account.manager = self
        accounts.append(account)
        changed(account)
        if openSession { account.openSession(withStore: MXFileStore(folder: storesFolder)) }
        NotificationCenter.default.post(name: .mxkAccountManagerDidAddAccount, object: account)
    }

    /// Logs out on the homeserver, and removes the account and its store whatever that says.
    open func removeAccount(_ account: MXKAccount, completion: (() -> Void)?) {
        removeAccount(account, sendLogoutRequest: true, completion: completion)
    }

    /// The same.
    ///
    /// - Parameter sendLogoutRequest: Whether the homeserver is told.
    open func removeAccount(_ account: MXKAccount, sendLogoutRequest: Bool, completion: (() -> Void)?) {
        let completion = MainCallback<Void> { completion?() }
        Task {
            await self.removeAccount(account, sendLogoutRequest: sendLogoutRequest)
            completion(())
        }
    }

    /// Logs out on the homeserver, for which that has ten seconds, and removes the account and its store in any case. A second
    /// call waits for the first.
    ///
    /// - Parameter sendLogoutRequest: Whether the homeserver is told.
    public func removeAccount(_ account: MXKAccount, sendLogoutRequest: Bool = true) async {
        let id = ObjectIdentifier(account)
        if let removal = removals[id] { return await removal.value }
        guard accounts.contains(where: { $0 === account }) else { return }
        let removal = Task {
            await account.logout(sendingServerRequest: sendLogoutRequest)
            self.removeLocally(account)
        }
        removals[id] = removal
        await removal.value
        removals[id] = nil
    }

    private func removeLocally(_ account: MXKAccount) {
        // One that has taken its place meanwhile stays, with its store.
        guard accounts.contains(where: { $0 === account }) else { return }
        account.manager = nil
        accounts.removeAll { $0 === account }
        changedUsers.insert(account.userId)
        try? write()
        do throws(MatrixError) {
            try MXFileStore.delete(of: account.userId, in: storesFolder)
        } catch {
            NotificationCenter.default.postMXKError(error, userId: account.userId)
        }
        NotificationCenter.default.post(name: .mxkAccountManagerDidRemoveAccount, object: account)
    }

    /// Removes all accounts, at the same time.
    open func logout(completion: (() -> Void)?) {
        let completion = MainCallback<Void> { completion?() }
        Task {
            await self.logout()
            completion(())
        }
    }

    /// As the other form.
    public func logout() async {
        let removals = accounts.map { account in Task { await self.removeAccount(account) } }
        for removal in removals { await removal.value }
    }

    /// The tokens of an account are not valid any more, but its device lives.
    open func softLogout(_ account: MXKAccount) {
        account.softLogout()
        NotificationCenter.default.post(name: .mxkAccountManagerDidSoftlogoutAccount, object: account)
    }

    /// Goes on with new tokens of the same user, and opens the session.
    open func hydrateAccount(_ account: MXKAccount, with credentials: MXCredentials) {
        account.hydrate(withCredentials: credentials)
        account.openSession(withStore: MXFileStore(folder: storesFolder))
    }

    // MARK: Finding

    /// The account of a user.
    open func account(forUserId userId: String) -> MXKAccount? { accounts.first { $0.userId == userId } }

    /// An active account that is in a room, or is invited.
    open func accountKnowingRoom(withRoomIdOrAlias roomIdOrAlias: String) -> MXKAccount? {
        activeAccounts.first { account in
            account.mxSession?.room(withRoomId: roomIdOrAlias) != nil
                || account.mxSession?.room(withAlias: roomIdOrAlias) != nil
        }
    }

    /// An active account that knows something of a user: a direct chat first.
    open func accountKnowingUser(withUserId userId: String) -> MXKAccount? {
        activeAccounts.first { $0.mxSession?.directRooms[userId]?.isEmpty == false }
            ?? activeAccounts.first { $0.mxSession?.user(withUserId: userId) != nil }
    }
}
