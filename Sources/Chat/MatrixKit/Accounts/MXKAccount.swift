public import Foundation
public import MatrixProtocol
public import MatrixSDK

extension Notification.Name {
    /// Posted when the user's own name or picture has changed. The object is the user's id.
    public static let mxkAccountUserInfoDidChange = Notification.Name("kMXKAccountUserInfoDidChangeNotification")
}

/// The state of an account's store.
public enum MXKAccountStoreState: Hashable, Sendable {
    /// The session is closed.
    case closed
    /// The session is open.
    case open
    /// Another process is using the store; `nil` if that process is unknown.
    case inUse(process: Int32?)
    /// The store could not be opened.
    case failed(MatrixError)
}

/// A logged-in user, with the session of that login.
///
/// A method that takes closures calls exactly one of them, once, on the main actor.
@MainActor
open class MXKAccount {
    /// The stored record.
    var record: AccountRecord { didSet { if record != oldValue { manager?.changed(self) } } }
    weak var manager: MXKAccountManager?
    var client: MXRestClient?
    private var store: (any MXStore)?
    /// The options for the next session. Encryption is enabled.
    public var sessionOptions: MXSessionOptions = {
        var options = MXSessionOptions()
        options.enableCrypto = true
        return options
    }()
    /// The client options, used from the next session on.
    var clientOptions = MXRestClientOptions()
    /// The time limit for the homeserver to answer a logout.
    var logoutTimeout = Duration.seconds(10)

    /// Creates an account for a logged-in user.
    public init(credentials: MXCredentials) { record = AccountRecord(credentials: credentials) }

    init(_ record: AccountRecord) { self.record = record }

    // MARK: Properties

    /// The latest known tokens.
    public var mxCredentials: MXCredentials { record.credentials }
    /// The user id; empty if the credentials have none.
    public var userId: String { record.credentials.userId ?? "" }
    /// The client for the homeserver; `nil` after a logout.
    public var mxRestClient: MXRestClient? {
        if isLoggedOut { return nil }
        if let client { return client }
        let made = makeClient()
        client = made
        return made
    }
    /// The session; `nil` while it is not open.
    public private(set) var mxSession: MXSession?
    /// Whether the store can be used, and if not, the reason.
    public private(set) var storeState = MXKAccountStoreState.closed
    /// The user's name.
    public var userDisplayName: String? { record.displayName }
    /// The user's picture, an `mxc:` address.
    public var userAvatarUrl: String? { record.avatarUrl }
    /// The name followed by the id.
    public var fullDisplayName: String {
        guard let name = record.displayName, !name.isEmpty else { return userId }
        return "\(name) (\(userId))"
    }
    /// The device of this login, available after ``loadDeviceInformation()``.
    public private(set) var device: MXDevice?
    /// The user's presence as others see it.
    public var userPresence: MXPresence { mxSession?.user(withUserId: userId)?.presence ?? .unknown }
    /// Whether the tokens have expired but the device still exists: see ``hydrate(withCredentials:)``.
    public var isSoftLogout: Bool { record.isSoftLogout }
    private var isLoggedOut = false

    /// Whether the account is disabled. Its session is then closed.
    public var isDisabled: Bool {
        get { record.isDisabled }
        set {
            record.isDisabled = newValue
            if newValue { closeSession(false) }
        }
    }
    /// Whether to hide the user's presence from others. Takes effect with the next session.
    public var hideUserPresence: Bool {
        get { record.hidesPresence }
        set { record.hidesPresence = newValue }
    }
    /// Whether the program shows notifications. The default is true.
    public var enableInAppNotifications: Bool {
        get { record.notifies }
        set { record.notifies = newValue }
    }
    /// Application data to store with the account.
    public var others: [String: Data] {
        get { record.others }
        set { record.others = newValue }
    }

    // MARK: The session

    private func makeClient() -> MXRestClient {
        MXRestClient(
            credentials: record.credentials,
            persistentTokenDataHandler: { [weak self] credentials in try await self?.keep(credentials) },
            unauthenticatedHandler: { [weak self] _, isSoftLogout, _ in
                Task { @MainActor in self?.loginEnded(isSoftLogout) }
            },
            options: clientOptions)
    }

    /// Writes the new tokens to disk before returning, because the old ones are no longer valid.
    private func keep(_ credentials: MXCredentials) throws {
        record.credentials = credentials
        try manager?.write()
    }

    private func loginEnded(_ isSoftLogout: Bool) {
        guard !isLoggedOut else { return }
        guard let manager else { return isSoftLogout ? softLogout() : closeSession(true) }
        if isSoftLogout {
            manager.softLogout(self)
        } else {
            manager.removeAccount(self, sendLogoutRequest: false, completion: nil)
        }
    }

    /// Opens the session and starts syncing, unless it is already open or the account is disabled or logged out. If
    /// another process has the store, nothing is opened and ``storeState`` reports it.
    open func openSession(withStore store: any MXStore) {
        guard mxSession == nil, !isDisabled, !isSoftLogout, let client = mxRestClient else { return }
        var options = sessionOptions
        options.setsPresence = !hideUserPresence
        let session = MXSession(matrixRestClient: client, options: options)
        do throws(MatrixError) {
            try session.setStore(store)
        } catch {
            session.close()
            storeState = manager?.ownerState(of: self) ?? .failed(error)
            NotificationCenter.default.postMXKError(error, userId: userId)
            return
        }
        (mxSession, self.store, storeState) = (session, store, .open)
        Task { [weak self] in
            do {
                try await session.start()
                await self?.readProfile(session)
            } catch is CancellationError {
            } catch let error as MatrixError where error.code == .cancelled {
            } catch {
                // The session retries by itself; the state shows its progress.
                guard let self, self.mxSession === session else { return }
                NotificationCenter.default.postMXKError(error, userId: self.userId)
            }
        }
    }

    private func readProfile(_ session: MXSession) async {
        guard let profile = try? await session.matrixRestClient.profile(ofUser: userId), mxSession === session else {
            return
        }
        setProfile(name: profile.displayName, avatar: profile.avatarUrl)
    }

    private func setProfile(name: String?, avatar: String?) {
        guard name != record.displayName || avatar != record.avatarUrl else { return }
        (record.displayName, record.avatarUrl) = (name, avatar)
        NotificationCenter.default.post(name: .mxkAccountUserInfoDidChange, object: userId)
    }

    /// Closes its session.
    ///
    /// - Parameter clearStore: Whether to delete the store.
    open func closeSession(_ clearStore: Bool) {
        let store = store
        if let session = mxSession { MXKRoomDataSourceManager.removeSharedManager(forMatrixSession: session) }
        mxSession?.close()
        (mxSession, self.store) = (nil, nil)
        if storeState == .open { storeState = .closed }
        guard clearStore, let store else { return }
        do throws(MatrixError) {
            try store.deleteAllData()
        } catch {
            NotificationCenter.default.postMXKError(error, userId: userId)
        }
    }

    /// Pauses the session while the program is in the background.
    open func pauseInBackgroundTask() { mxSession?.pause() }

    /// Resumes the session.
    open func resume() { mxSession?.resume() }

    /// Closes the session and opens it again with the same store.
    ///
    /// - Parameter clearCache: Whether to discard the store and fetch everything again. This also loses the keys.
    open func reload(_ clearCache: Bool) {
        guard let store else { return }
        closeSession(clearCache)
        client = nil
        openSession(withStore: store)
    }

    // MARK: The login

    /// Logs out on the homeserver, closes the session and deletes its store, even if the homeserver reports an error.
    open func logout(_ completion: (() -> Void)?) { logoutSendingServerRequest(true, completion: completion) }

    /// Logs out and calls a closure when done.
    ///
    /// - Parameter sendLogoutServerRequest: Whether to notify the homeserver.
    open func logoutSendingServerRequest(_ sendLogoutServerRequest: Bool, completion: (() -> Void)?) {
        let completion = MainCallback<Void> { completion?() }
        Task {
            await self.logout(sendingServerRequest: sendLogoutServerRequest)
            completion(())
        }
    }

    /// Logs out: waits up to ten seconds for the homeserver, then closes the session and deletes its store in any case.
    ///
    /// - Parameter sendingServerRequest: Whether to notify the homeserver.
    public func logout(sendingServerRequest: Bool = true) async {
        let client = mxRestClient
        isLoggedOut = true
        mxSession?.pause()
        if sendingServerRequest, let client { await Self.logOut(client, within: logoutTimeout) }
        closeSession(true)
        self.client = nil
    }

    private static func logOut(_ client: MXRestClient, within timeout: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            // A failure is ignored: the account is removed anyway.
            group.addTask { try? await client.logout() }
            group.addTask { try? await Task.sleep(for: timeout) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Closes the session but keeps its store: the tokens have expired, but the device still exists.
    open func softLogout() {
        record.isSoftLogout = true
        closeSession(false)
        client = nil
    }

    /// Continues with new tokens of the same user, for example after a soft logout. The session can then be opened
    /// again.
    open func hydrate(withCredentials credentials: MXCredentials) {
        guard credentials.userId == record.credentials.userId else { return }
        closeSession(false)
        (client, isLoggedOut) = (nil, false)
        var new = record
        (new.credentials, new.isSoftLogout) = (credentials, false)
        record = new
    }

    /// Adopts a record that another process has changed: its tokens are newer.
    func adopt(_ new: AccountRecord) {
        let (manager, old) = (manager, record)
        self.manager = nil  // already written
        record = new
        self.manager = manager
        if new.isDisabled || new.isSoftLogout || new.credentials != old.credentials {
            closeSession(false)
            client = nil
        }
    }

    // MARK: The user

    private func requireClient() throws -> MXRestClient {
        guard let client = mxRestClient else {
            throw MatrixError(.unauthenticated, "\(userId) is logged out: nothing was sent")
        }
        return client
    }

    /// Changes the user's name.
    public func setUserDisplayName(_ displayname: String) async throws {
        try await requireClient().setDisplayName(displayname)
        setProfile(name: displayname.isEmpty ? nil : displayname, avatar: record.avatarUrl)
    }

    /// Changes the user's picture, an `mxc:` address.
    public func setUserAvatarUrl(_ avatarUrl: String) async throws {
        try await requireClient().setAvatarUrl(avatarUrl)
        setProfile(name: record.displayName, avatar: avatarUrl.isEmpty ? nil : avatarUrl)
    }

    /// Changes the password. Other devices stay logged in.
    public func changePassword(_ oldPassword: String, with newPassword: String) async throws {
        let (client, user) = (try requireClient(), userId)
        _ = try await client.changePassword(to: newPassword, logoutDevices: false).completed { session in
            guard session.error == nil, session.remainingStages.first == "m.login.password" else { return nil }
            return .password(oldPassword, userId: user)
        }
    }

    /// Loads ``device``.
    public func loadDeviceInformation() async throws {
        guard let id = record.credentials.deviceId else {
            throw MatrixError(.invalidArgument, "the login of \(userId) names no device")
        }
        device = try await requireClient().device(withId: id)
    }

    /// Like ``setUserDisplayName(_:)``, with closures.
    open func setUserDisplayName(_ displayname: String, success: (() -> Void)?, failure: (((any Error)?) -> Void)?) {
        start(success, failure) { try await $0.setUserDisplayName(displayname) }
    }

    /// Like ``setUserAvatarUrl(_:)``, with closures.
    open func setUserAvatarUrl(_ avatarUrl: String, success: (() -> Void)?, failure: (((any Error)?) -> Void)?) {
        start(success, failure) { try await $0.setUserAvatarUrl(avatarUrl) }
    }

    /// Like ``changePassword(_:with:)``, with closures.
    open func changePassword(
        _ oldPassword: String, with newPassword: String, success: (() -> Void)?, failure: (((any Error)?) -> Void)?
    ) { start(success, failure) { try await $0.changePassword(oldPassword, with: newPassword) } }

    /// Like ``loadDeviceInformation()``, with closures.
    open func loadDeviceInformation(_ success: (() -> Void)?, failure: (((any Error)?) -> Void)?) {
        start(success, failure) { try await $0.loadDeviceInformation() }
    }

    private func start(
        _ success: (() -> Void)?, _ failure: (((any Error)?) -> Void)?,
        _ work: @escaping @MainActor (MXKAccount) async throws -> Void
    ) {
        let succeeded = MainCallback<Void> { success?() }
        let failed = MainCallback<(any Error)?> { failure?($0) }
        Task {
            do {
                try await work(self)
            } catch {
                return failed(error)
            }
            succeeded(())
        }
    }
}
