import Basics
import CurlTransport
import PydioProtocol

/// What is known of each server: who logs in there, and the session that was made.
///
/// Servers are told apart by their address with a slash at its end, and by nothing else: neither case nor the usual port is
/// made the same. All clients with one manager share it, and with it each server's session: it is safe from any thread.
public final class ServersParamsManager: Sendable {
    /// The one that clients have unless they are given another.
    public static let shared = ServersParamsManager()

    private let sessions = Lock<[String: ServerSession]>([:])
    private let deviceId: String

    /// - Parameter deviceId: What servers call the key pairs by that are made here. A new pair makes that of the same device
    ///   worthless, so two processes at a time need two names. Default: a new one.
    public init(deviceId: String = UUID().uuidString.lowercased()) {
        self.deviceId = deviceId
    }

    /// Under the original's name.
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

    /// Sets who logs in at a server; nil for nobody. Another name than before ends the session here, a new password does
    /// not.
    public func setUser(_ user: User?, forServer server: URL) {
        session(for: server).change { $0.setUser(user) }
    }

    /// Who logs in at a server.
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

    /// Sets the token of a session. Whoever keeps it over processes must keep the cookies, too.
    public func setSecureToken(_ token: String?, forServer server: URL) {
        session(for: server).change { $0.setSecureToken(token) }
    }

    /// The token of the session.
    public func secureToken(forServer server: URL) -> String? {
        known(server)?.read { $0.secureToken }
    }

    /// Forgets the token.
    public func clearSecureToken(_ server: URL) {
        known(server)?.change { $0.setSecureToken(nil) }
    }

    /// Sets the seed for the next login with a captcha.
    public func setSeed(_ seed: String?, forServer server: URL) {
        session(for: server).change { $0.setSeed(seed) }
    }

    /// The seed that the server gave last.
    public func seed(forServer server: URL) -> String? {
        known(server)?.read { $0.seed }
    }

    /// Forgets the seed.
    public func clearSeed(_ server: URL) {
        known(server)?.change { $0.setSeed(nil) }
    }

    /// Sets a key pair that was kept, so that no password is needed; nil forgets the one there is.
    public func setKeystoreToken(_ token: KeystoreToken?, forServer server: URL) {
        session(for: server).change { $0.setKeystoreToken(token) }
    }

    /// The key pair that stands for the user's password at this server; nil if the server gave none.
    public func keystoreToken(forServer server: URL) -> KeystoreToken? {
        known(server)?.read { $0.keystoreToken }
    }

    /// The server's cookies.
    public func allServerCookies(_ server: URL) -> [PydioCookie] {
        known(server)?.read { $0.cookies.cookies(now: .now) } ?? []
    }

    /// Sets cookies that were kept, for as long as the session lasts.
    public func setCookies(_ cookies: [PydioCookie], forServer server: URL) {
        session(for: server).change { $0.setCookies(cookies) }
    }

    /// Deletes the server's cookies.
    public func clearAllCookies(_ server: URL) {
        known(server)?.change { $0.clearCookies() }
    }

    /// Whether there is a cookie of a session, valid or not.
    public func isCookieSet(_ server: URL) -> Bool {
        allServerCookies(server).contains { $0.name == "AjaXplorer" }
    }

    /// Forgets the session: cookies, token, seed and key pair. The user stays.
    public func clearAll(_ server: URL) {
        known(server)?.change { $0.forgetSession() }
    }
}
