public import Foundation
public import MatrixProtocol
import MatrixSDK

extension Notification.Name {
    /// Posted when an account was added. The object is the account.
    public static let mxkAccountManagerDidAddAccount = Notification.Name("kMXKAccountManagerDidAddAccountNotification")
    /// Posted when an account was removed. The object is the account.
    public static let mxkAccountManagerDidRemoveAccount = Notification.Name(
        "kMXKAccountManagerDidRemoveAccountNotification")
    /// Posted when the tokens of an account have expired but its device still exists. The object is the account.
    public static let mxkAccountManagerDidSoftlogoutAccount = Notification.Name(
        "kMXKAccountManagerDidSoftlogoutAccountNotification")
}

/// The accounts of a program, stored in a private folder: `accounts.json`, and a store for each account.
///
/// Several processes can share the folder. Each writes only the accounts that it has changed. Only one of them can use
/// the store of an account: see ``MXKAccount/storeState``.
@MainActor
open class MXKAccountManager {
    private static let sharedManager = MXKAccountManager(
        folder: MXFileStore.defaultFolder.deletingLastPathComponent().appending(path: "matrixkit"))

    /// The program's account manager, in `matrixkit` below `$XDG_DATA_HOME` or `~/.local/share`.
    public static func shared() -> MXKAccountManager { sharedManager }

    /// All accounts in the order in which they were added.
    public private(set) var accounts: [MXKAccount] = []
    /// The accounts that can be used: neither disabled nor soft-logged-out.
    public var activeAccounts: [MXKAccount] { accounts.filter { !$0.isDisabled && !$0.isSoftLogout } }
    /// The reason why the file could not be read or written; `nil` if there was no error.
    public private(set) var fileTrouble: String?

    private let folder: URL
    private let file: AccountsFile
    /// Users whose records here differ from the file.
    private var changedUsers: Set<String> = []
    private var removals: [ObjectIdentifier: Task<Void, Never>] = [:]

    /// - Parameter folder: Created on the first write.
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

    /// Opens the session of each active account with its own store.
    open func prepareSessionForActiveAccounts() {
        for account in activeAccounts { account.openSession(withStore: MXFileStore(folder: storesFolder)) }
    }

    /// Returns the state of an account's store if another owner has it.
    func ownerState(of account: MXKAccount) -> MXKAccountStoreState? {
        switch MXFileStore.ownership(of: account.userId, in: storesFolder) {
        case .free: nil
        case .owned(let process): .inUse(process: process)
        }
    }

    // MARK: The file

    /// Writes the pending changes. Changes that accounts make themselves are written at once.
    open func saveAccounts() { try? write() }

    func changed(_ account: MXKAccount) {
        guard accounts.contains(where: { $0 === account }) else { return }
        changedUsers.insert(account.userId)
        try? write()
    }

    /// Writes the pending changes. A failure is recorded in ``fileTrouble`` and retried with the next change.
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

    /// Reads the file again. Accounts that another process has added or removed are added or closed here, and accounts
    /// whose tokens it has changed continue with the new tokens.
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

    // MARK: Adding and removing

    /// Adds an account, replacing an earlier one of the same user.
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

    /// Logs out on the homeserver, and removes the account and its store even if that fails.
    open func removeAccount(_ account: MXKAccount, completion: (() -> Void)?) {
        removeAccount(account, sendLogoutRequest: true, completion: completion)
    }

    /// Removes an account and calls a closure when done.
    ///
    /// - Parameter sendLogoutRequest: Whether to notify the homeserver.
    open func removeAccount(_ account: MXKAccount, sendLogoutRequest: Bool, completion: (() -> Void)?) {
        let completion = MainCallback<Void> { completion?() }
        Task {
            await self.removeAccount(account, sendLogoutRequest: sendLogoutRequest)
            completion(())
        }
    }

    /// Logs out on the homeserver, waiting up to ten seconds, and removes the account and its store in any case. A
    /// second call waits for the first.
    ///
    /// - Parameter sendLogoutRequest: Whether to notify the homeserver.
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
        // Keep an account that has replaced this one in the meantime, with its store.
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

    /// Removes all accounts concurrently.
    open func logout(completion: (() -> Void)?) {
        let completion = MainCallback<Void> { completion?() }
        Task {
            await self.logout()
            completion(())
        }
    }

    /// Removes all accounts concurrently.
    public func logout() async {
        let removals = accounts.map { account in Task { await self.removeAccount(account) } }
        for removal in removals { await removal.value }
    }

    /// Closes the session of an account whose tokens have expired but whose device still exists.
    open func softLogout(_ account: MXKAccount) {
        account.softLogout()
        NotificationCenter.default.post(name: .mxkAccountManagerDidSoftlogoutAccount, object: account)
    }

    /// Continues with new tokens of the same user, and opens the session.
    open func hydrateAccount(_ account: MXKAccount, with credentials: MXCredentials) {
        account.hydrate(withCredentials: credentials)
        account.openSession(withStore: MXFileStore(folder: storesFolder))
    }

    // MARK: Finding

    /// Returns the account of a user.
    open func account(forUserId userId: String) -> MXKAccount? { accounts.first { $0.userId == userId } }

    /// Returns an active account that has joined a room or is invited to it.
    open func accountKnowingRoom(withRoomIdOrAlias roomIdOrAlias: String) -> MXKAccount? {
        activeAccounts.first { account in
            account.mxSession?.room(withRoomId: roomIdOrAlias) != nil
                || account.mxSession?.room(withAlias: roomIdOrAlias) != nil
        }
    }

    /// Returns an active account that knows a user, preferring one with a direct chat.
    open func accountKnowingUser(withUserId userId: String) -> MXKAccount? {
        activeAccounts.first { $0.mxSession?.directRooms[userId]?.isEmpty == false }
            ?? activeAccounts.first { $0.mxSession?.user(withUserId: userId) != nil }
    }
}
