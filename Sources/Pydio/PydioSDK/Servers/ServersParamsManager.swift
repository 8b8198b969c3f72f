import Basics
import CurlTransport
import PydioProtocol

/// The user and the session of each server.
///
/// Servers are identified only by their address with a trailing slash: case and default ports are not normalized. All
/// clients with the same manager share each server's session. You can use it from any thread.
public final class ServersParamsManager: Sendable {
    /// The default manager of clients.
    public static let shared = ServersParamsManager()

    private let sessions = Lock<[String: ServerSession]>([:])
    private let deviceId: String

    /// - Parameter deviceId: The name under which servers store key pairs created here. A new pair invalidates the one
    ///   of the same device, so two concurrent processes need two names. Default: a new one.
    public init(deviceId: String = UUID().uuidString.lowercased()) {
        self.deviceId = deviceId
    }

    /// Returns ``shared``, under the name in the original library.
    public static func sharedManager() -> ServersParamsManager { shared }

    func session(for server: URL) -> ServerSession {
        let key = ServerAddress.normalized(server)
        return sessions.withLock { sessions in
            if let session = sessions[key] { return session }
            let session = ServerSession(deviceId: deviceId)
            sessions[key] = session
            return session
        }
    }

    private func known(_ server: URL) -> ServerSession? {
        sessions.withLock { $0[ServerAddress.normalized(server)] }
    }

    // MARK: Users

    /// Sets the user of a server; pass `nil` for none. A different name ends the session here, a new password does not.
    public func setUser(_ user: User?, forServer server: URL) {
        session(for: server).change { $0.setUser(user) }
    }

    /// Returns the user of a server.
    public func user(forServer server: URL) -> User? {
        known(server)?.read { $0.user }
    }

    /// The servers that have a user, in no particular order.
    public var serversList: [URL] {
        sessions.withLock { $0 }.compactMap { key, session in
            session.read { $0.user } == nil ? nil : URL(string: key)
        }
    }

    // MARK: Sessions

    /// Sets the token of a session. If you store it across processes, also store the cookies.
    public func setSecureToken(_ token: String?, forServer server: URL) {
        session(for: server).change { $0.setSecureToken(token) }
    }

    /// Returns the token of the session.
    public func secureToken(forServer server: URL) -> String? {
        known(server)?.read { $0.secureToken }
    }

    /// Deletes the token.
    public func clearSecureToken(_ server: URL) {
        known(server)?.change { $0.setSecureToken(nil) }
    }

    /// Sets the seed for the next login with a captcha.
    public func setSeed(_ seed: String?, forServer server: URL) {
        session(for: server).change { $0.setSeed(seed) }
    }

    /// Returns the last seed from the server.
    public func seed(forServer server: URL) -> String? {
        known(server)?.read { $0.seed }
    }

    /// Deletes the seed.
    public func clearSeed(_ server: URL) {
        known(server)?.change { $0.setSeed(nil) }
    }

    /// Sets a stored key pair, so that no password is needed; `nil` deletes the current one.
    public func setKeystoreToken(_ token: KeystoreToken?, forServer server: URL) {
        session(for: server).change { $0.setKeystoreToken(token) }
    }

    /// Returns the key pair that replaces the user's password at this server; `nil` if there is none.
    public func keystoreToken(forServer server: URL) -> KeystoreToken? {
        known(server)?.read { $0.keystoreToken }
    }

    /// Returns the server's cookies.
    public func allServerCookies(_ server: URL) -> [PydioCookie] {
        known(server)?.read { $0.cookies.cookies(now: .now) } ?? []
    }

    /// Sets stored cookies, for the duration of the session.
    public func setCookies(_ cookies: [PydioCookie], forServer server: URL) {
        session(for: server).change { $0.setCookies(cookies) }
    }

    /// Deletes the server's cookies.
    public func clearAllCookies(_ server: URL) {
        known(server)?.change { $0.clearCookies() }
    }

    /// Returns whether there is a session cookie, valid or not.
    public func isCookieSet(_ server: URL) -> Bool {
        allServerCookies(server).contains { $0.name == "AjaXplorer" }
    }

    /// Deletes the session: cookies, token, seed and key pair. The user stays set.
    public func clearAll(_ server: URL) {
        known(server)?.change { $0.forgetSession() }
    }
}
