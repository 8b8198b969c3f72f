import Basics
import Dispatch
import Foundation
import MatrixProtocol

extension MXMatrixService {
    // MARK: Homeserver

    /// Sets the homeserver, and where to keep the account's data. Call it before everything else.
    ///
    /// A homeserver that cannot be reached is accepted if the folder has a session, which can be read offline.
    ///
    /// - Parameters:
    ///   - homeserverURL: The base URL, or the server name of user ids, from which the homeserver is discovered.
    ///   - sessionPath: A folder for this service only; an empty string is ``MXFileStore/defaultFolder``. It is created
    ///     if missing, and closed to others.
    public func initialize(homeserverURL: String, sessionPath: String) async throws {
        try await inTurn {
            if case .loggedIn = self.phase {
                throw MatrixServiceError.sdkError(
                    "Somebody is logged in: log out before another homeserver or folder is chosen.")
            }
            let folder = sessionPath.isEmpty ? MXFileStore.defaultFolder : URL(filePath: sessionPath)
            let stored = try CredentialsFile(in: folder).homeserver
            let homeserver: String
            do {
                homeserver = try await self.homeserver(homeserverURL)
            } catch MatrixServiceError.network {
                guard let stored else { throw MatrixServiceError.network }
                homeserver = stored
            }
            self.phase = .loggedOut(ServicePlace(homeserver: homeserver, folder: folder))
        }
    }

    /// Returns the base URL of a homeserver that answers.
    private func homeserver(_ text: String) async throws -> String {
        let isURL = text.contains("://")
        if isURL {
            guard let url = URL(string: text), MXWellKnown.isUsable(text) else {
                throw MatrixServiceError.sdkError("This is not the URL of a homeserver.")
            }
            let client = MXRestClient(homeServer: url, options: clientOptions)
            do {
                _ = try await client.supportedVersions()
                return client.homeserverURL
            } catch let error as MatrixError where error.code == .network || error.code == .timedOut {
                throw MatrixServiceError.network
            } catch  where error.isCancellation {
                throw error
            } catch {
                // Perhaps the site of a server name, which knows the homeserver.
            }
        }
        let discovery =
            isURL
            ? try await MXRestClient.discoverHomeserver(at: text, options: clientOptions)
            : try await MXRestClient.discoverHomeserver(of: text, options: clientOptions)
        switch discovery {
        case .found(let wellKnown, _):
            if let homeserver = wellKnown.homeserver { return homeserver }
            throw MatrixServiceError.network
        case .failPrompt, .failError: throw MatrixServiceError.network
        }
    }

    // MARK: Logging in

    /// Logs in with an access token from elsewhere, checked with the homeserver.
    ///
    /// - Parameter novaUserId: The Matrix user id that the token must belong to. Any other text is treated as the
    ///   application's own name of the user, and the homeserver reports the user id.
    public func login(novaUserId: String, accessToken: String) async throws {
        try await inTurn {
            let (place, lock) = try self.placeForLogin()
            var credentials = MXCredentials(homeServer: place.homeserver, accessToken: accessToken)
            let client = MXRestClient(credentials: credentials, options: self.clientOptions)
            let who = try await client.whoAmI()
            guard !novaUserId.hasPrefix("@") || novaUserId == who.userId else {
                throw MatrixServiceError.sdkError("The access token belongs to another user than \(novaUserId).")
            }
            credentials.userId = who.userId
            credentials.deviceId = who.deviceId
            try await self.logIn(credentials, at: place, lock, goesOn: false)
        }
    }

    /// Logs in with a password. The device of the user's last login here continues, with its stored data.
    ///
    /// - Parameter username: The user id, or its local part.
    public func loginWithPassword(username: String, password: String) async throws {
        try await inTurn {
            let (place, lock) = try self.placeForLogin()
            let stored = (try? CredentialsFile(in: place.folder).read()) ?? nil
            let device = stored.flatMap { Self.isUser($0, username) ? $0.deviceId : nil }
            guard let url = URL(string: place.homeserver) else { throw MatrixServiceError.notInitialized }
            let client = MXRestClient(homeServer: url, options: self.clientOptions)
            let credentials = try await client.login(username: username, password: password, deviceId: device)
            do {
                try await self.logIn(credentials, at: place, lock, goesOn: device != nil)
            } catch {
                // Otherwise a device unknown to everyone would stay at the homeserver forever.
                if device == nil { try? await client.logout() }
                throw error
            }
        }
    }

    private static func isUser(_ credentials: MXCredentials, _ username: String) -> Bool {
        guard let userId = credentials.userId else { return false }
        return userId == username || userId.hasPrefix("@\(username):")
    }

    /// - Throws: If a user is logged in, here or with another service, unless the homeserver has ended that login.
    private func placeForLogin() throws -> (ServicePlace, FileLock) {
        switch phase {
        case .uninitialised: throw MatrixServiceError.notInitialized
        case .loggedOut(let place): return (place, try CredentialsFile(in: place.folder).lock())
        case .loggedIn(let place, let account):
            guard account.needsLogin else {
                throw MatrixServiceError.sdkError("Somebody is logged in already: log out first.")
            }
            return (place, try account.file.lock())
        }
    }

    /// - Parameter goesOn: Whether the device is that of the stored credentials, whose tokens are dead from now on.
    private func logIn(
        _ credentials: MXCredentials, at place: ServicePlace, _ lock: FileLock, goesOn: Bool
    ) async throws {
        // The session that the homeserver has ended is replaced by the new one, which takes over its store.
        if let old = account {
            old.end()
            phase = .loggedOut(place)
            updateConnectionState()
        }
        let file = try CredentialsFile(in: place.folder)
        file.hold(lock)
        let account: ServiceAccount
        do {
            account = try await makeAccount(credentials, file, at: place)
        } catch {
            if goesOn { try CredentialsFile(in: place.folder).write(credentials) }
            throw error
        }
        do {
            try file.write(credentials)
        } catch {
            account.end()
            throw error
        }
        begin(account, at: place)
    }

    /// Restores the session that an earlier run left in the session's folder. Needs no network.
    ///
    /// - Returns: False if there is none; log in then.
    public func restoreSession() async throws -> Bool {
        try await inTurn {
            switch self.phase {
            case .uninitialised: throw MatrixServiceError.notInitialized
            case .loggedIn(_, let account): return !account.needsLogin
            case .loggedOut(let place):
                let file = try CredentialsFile(in: place.folder)
                file.hold(try file.lock())
                guard let credentials = try file.read(), let userId = credentials.userId,
                    MXFileStore.exists(for: userId, in: place.storeFolder)
                else { return false }
                self.begin(try await self.makeAccount(credentials, file, at: place), at: place)
                return true
            }
        }
    }

    /// Creates the session for credentials that are in the file, or will be.
    private func makeAccount(
        _ credentials: MXCredentials, _ file: CredentialsFile, at place: ServicePlace
    ) async throws -> ServiceAccount {
        let client = MXRestClient(
            credentials: credentials, persistentTokenDataHandler: { try file.write($0) },
            unauthenticatedHandler: { [weak self] error, isSoftLogout, _ in
                Self.onMain { self?.loginEnded(of: file, credentials, error, keepsDevice: isSoftLogout) }
            }, options: clientOptions)
        let session = MXSession(matrixRestClient: client, options: sessionOptions)
        let store = MXFileStore(folder: place.storeFolder)
        do {
            try await Self.open(session, store)
        } catch {
            file.retire()
            session.close()
            store.close()
            throw error
        }
        return ServiceAccount(session: session, store: store, file: file, credentials: credentials)
    }

    private func begin(_ account: ServiceAccount, at place: ServicePlace) {
        account.session.core.observeReports { [weak self, weak account] report in
            Self.onMain {
                if let self, let account, self.account === account { self.heard(report, of: account) }
            }
        }
        phase = .loggedIn(place, account)
        updateConnectionState()
    }

    /// Runs `body` in order, whatever queue the session's client calls back on.
    private nonisolated static func onMain(_ body: @escaping @Sendable @MainActor () -> Void) {
        DispatchQueue.main.async { MainActor.assumeIsolated(body) }
    }

    /// Reads the disk.
    @concurrent
    private static func open(_ session: MXSession, _ store: MXFileStore) async throws {
        try session.setStore(store)
    }

    // MARK: Logging out

    /// Ends the session, also at the homeserver, and deletes its local data. Succeeds even if the tokens are already
    /// dead. If the homeserver cannot be reached, nothing changes.
    public func logout() async throws {
        try await inTurn {
            let account = try self.knownAccount()
            do {
                if !account.needsLogin { try await account.session.logout() }
            } catch let error as MXError where error.status == 401 || error.status == 403 {
                // The homeserver no longer knows the login.
            } catch let error as MatrixError where error.code == .unauthenticated {
            }
            try self.forget(account)
        }
    }

    /// Handles tokens that the homeserver no longer accepts or renews.
    ///
    /// - Parameter keepsDevice: Whether to keep the local data for the next login of the same device.
    private func loginEnded(
        of file: CredentialsFile, _ credentials: MXCredentials, _ error: MXError, keepsDevice: Bool
    ) {
        // The session has erased its store. The login of another device deletes whatever cannot be deleted now.
        if !keepsDevice { try? file.remove(credentials) }
        guard let account, account.file === file, !account.needsLogin else { return }
        account.needsLogin = true
        account.failure = "The homeserver has ended the login: log in again."
        updateConnectionState()
    }

    private func forget(_ account: ServiceAccount) throws {
        if case .loggedIn(let place, _) = phase { phase = .loggedOut(place) }
        defer { updateConnectionState() }
        account.end()
        try account.file.remove(account.credentials)
        try account.store.deleteAllData()
    }

    /// Runs changes of the login one at a time.
    private func inTurn<Value: Sendable>(
        _ body: @escaping @Sendable @MainActor () async throws -> Value
    ) async throws -> Value {
        try await MatrixServiceError.mapped { try await accountTurns.inTurn(body) }
    }
}

extension CredentialsFile {
    /// The homeserver of the stored credentials; `nil` if there are none that can be read.
    fileprivate var homeserver: String? { ((try? read()) ?? nil)?.homeServer }
}
