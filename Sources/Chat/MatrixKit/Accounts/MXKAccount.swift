public import Foundation
public import MatrixProtocol
public import MatrixSDK

extension Notification.Name {
    /// The user's own name or picture is another; the object is the user's id.
    public static let mxkAccountUserInfoDidChange = Notification.Name("kMXKAccountUserInfoDidChangeNotification")
}

/// Whether an account can be used.
public enum MXKAccountStoreState: Hashable, Sendable {
    /// Its session is not open.
    case closed
    /// Its session is open.
    case open
    /// Another process has its store; nil if it is not known which.
    case inUse(process: Int32?)
    /// Its store could not be opened.
    case failed(MatrixError)
}

/// A login, with the session that it is used through.
///
/// Every call with closures calls exactly one of them, once, on the main actor.
@MainActor
open class MXKAccount {
    /// What is kept of it.
    var record: AccountRecord { didSet { if record != oldValue { manager?.changed(self) } } }
    weak var manager: MXKAccountManager?
    var client: MXRestClient?
    private var store: (any MXStore)?
    /// How the session behaves that is opened next. Encryption is on.
    public var sessionOptions: MXSessionOptions = {
        var options = MXSessionOptions()
        options.enableCrypto = true
        return options
    }()
    /// How its client behaves, from the next session on.
    var clientOptions = MXRestClientOptions()
    /// How long the homeserver may take to log out.
    var logoutTimeout = Duration.seconds(10)

    /// Somebody who is logged in.
    public init(credentials: MXCredentials) { record = AccountRecord(credentials: credentials) }

    init(_ record: AccountRecord) { self.record = record }

    // MARK: What it is

    /// The tokens, as new as they are known.
    public var mxCredentials: MXCredentials { record.credentials }
    /// The user; empty if the credentials name none.
    public var userId: String { record.credentials.userId ?? "" }
    /// The calls of its homeserver; nil after a logout.
    public var mxRestClient: MXRestClient? {
        if isLoggedOut { return nil }
        if let client { return client }
        let made = makeClient()
        client = made
        return made
    }
    /// Its rooms; nil while it is not open.
    public private(set) var mxSession: MXSession?
    /// Whether it can be used, and if not, why.
    public private(set) var storeState = MXKAccountStoreState.closed
    /// The user's name.
    public var userDisplayName: String? { record.displayName }
    /// The user's picture, an `mxc:` address.
    public var userAvatarUrl: String? { record.avatarUrl }
    /// The name with the id.
    public var fullDisplayName: String {
        guard let name = record.displayName, !name.isEmpty else { return userId }
        return "\(name) (\(userId))"
    }
    /// The device of the login, once it was asked for: see ``loadDeviceInformation()``.
    public private(set) var device: MXDevice?
    /// Whether the user is there, as others see it.
    public var userPresence: MXPresence { mxSession?.user(withUserId: userId)?.presence ?? .unknown }
    /// Whether the tokens are not valid any more, but the device lives: see ``hydrate(withCredentials:)``.
    public var isSoftLogout: Bool { record.isSoftLogout }
    private var isLoggedOut = false

    /// Whether it is not to be used. Its session is closed then.
    public var isDisabled: Bool {
        get { record.isDisabled }
        set {
            record.isDisabled = newValue
            if newValue { closeSession(false) }
        }
    }
    /// Whether others do not see that the user is there. From the next session on.
    public var hideUserPresence: Bool {
        get { record.hidesPresence }
        set { record.hidesPresence = newValue }
    }
    /// Whether the program shows notifications. Usually true.
    public var enableInAppNotifications: Bool {
        get { record.notifies }
        set { record.notifies = newValue }
    }
    /// For the application, which may keep here what it wants with the account.
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

    /// The new tokens are on the disk when this returns: the old ones are dead.
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

    /// Opens its session, unless it is open, disabled or logged out, and begins to sync. If another process has the store,
    /// ``storeState`` says so and nothing is opened.
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
                // The session tries again by itself; the state says how things stand.
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
    /// - Parameter clearStore: Whether what is stored is deleted.
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

    /// Lets the session rest while nobody looks.
    open func pauseInBackgroundTask() { mxSession?.pause() }

    /// Goes on.
    open func resume() { mxSession?.resume() }

    /// Closes the session and opens it again with the same store.
    ///
    /// - Parameter clearCache: Whether everything is asked for anew. Keys are lost then, too.
    open func reload(_ clearCache: Bool) {
        guard let store else { return }
        closeSession(clearCache)
        client = nil
        openSession(withStore: store)
    }

    // MARK: The login

    /// Logs out on the homeserver, and closes the session and deletes its store whatever that says.
    open func logout(_ completion: (() -> Void)?) { logoutSendingServerRequest(true, completion: completion) }

    /// The same.
    ///
    /// - Parameter sendLogoutServerRequest: Whether the homeserver is told.
    open func logoutSendingServerRequest(_ sendLogoutServerRequest: Bool, completion: (() -> Void)?) {
        let completion = MainCallback<Void> { completion?() }
        Task {
            await self.logout(sendingServerRequest: sendLogoutServerRequest)
            completion(())
        }
    }

    /// Logs out: asks the homeserver for ten seconds at most, then closes the session and deletes its store in any case.
    ///
    /// - Parameter sendingServerRequest: Whether the homeserver is told.
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
            // That it failed changes nothing: the account goes all the same.
            group.addTask { try? await client.logout() }
            group.addTask { try? await Task.sleep(for: timeout) }
            await group.next()
            group.cancelAll()
        }
    }

    /// The tokens are not valid any more, but the device lives: closes the session and keeps what is stored.
    open func softLogout() {
        record.isSoftLogout = true
        closeSession(false)
        client = nil
    }

    /// Goes on with new tokens of the same user, after a soft logout say. The session can be opened again then.
    open func hydrate(withCredentials credentials: MXCredentials) {
        guard credentials.userId == record.credentials.userId else { return }
        closeSession(false)
        (client, isLoggedOut) = (nil, false)
        var new = record
        (new.credentials, new.isSoftLogout) = (credentials, false)
        record = new
    }

    /// Another process has changed what is kept: its tokens are the newer ones.
    func adopt(_ new: AccountRecord) {
        let (manager, old) = (manager, record)
        self.manager = nil  // it is written already
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

    /// Asks for ``device``.
    public func loadDeviceInformation() async throws {
        guard let id = record.credentials.deviceId else {
            throw MatrixError(.invalidArgument, "the login of \(userId) names no device")
        }
        device = try await requireClient().device(withId: id)
    }

    /// As ``setUserDisplayName(_:)``.
    open func setUserDisplayName(_ displayname: String, success: (() -> Void)?, failure: (((any Error)?) -> Void)?) {
        start(success, failure) { try await $0.setUserDisplayName(displayname) }
    }

    /// As ``setUserAvatarUrl(_:)``.
    open func setUserAvatarUrl(_ avatarUrl: String, success: (() -> Void)?, failure: (((any Error)?) -> Void)?) {
        start(success, failure) { try await $0.setUserAvatarUrl(avatarUrl) }
    }

    /// As ``changePassword(_:with:)``.
    open func changePassword(
        _ oldPassword: String, with newPassword: String, success: (() -> Void)?, failure: (((any Error)?) -> Void)?
    ) { start(success, failure) { try await $0.changePassword(oldPassword, with: newPassword) } }

    /// As ``loadDeviceInformation()``.
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
