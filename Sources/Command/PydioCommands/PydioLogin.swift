import Basics
import Foundation
import PydioSDK

/// The stored result of `login`: server, user and credentials.
package struct PydioLogin: Codable, Hashable, Confidential {
    /// A cookie of a session.
    struct Cookie: Codable, Hashable {
        let name: String
        let value: String
    }

    let server: URL
    let user: String
    /// The server's id of a key pair.
    let deviceID: String
    /// The password; `nil` if a key pair replaces it, or if it is not to be stored.
    var password: String?
    var keyPair: KeystoreToken?
    var secureToken: String?
    var cookies: [Cookie] = []

    package var description: String { "\(user) on \(server.absoluteString)" }

    /// Whether the server remembers the login after the session has ended.
    var isRemembered: Bool { cookies.contains { $0.name == CookieJar.rememberedCookie } }

    /// Creates the parameters for a client to continue from here.
    func makeParams() -> ServersParamsManager {
        let params = ServersParamsManager(deviceId: deviceID)
        // First, because setting another user ends a session.
        if let password { params.setUser(User(userid: user, password: password), forServer: server) }
        params.setKeystoreToken(keyPair, forServer: server)
        params.setCookies(cookies.map { PydioCookie(name: $0.name, value: $0.value) }, forServer: server)
        params.setSecureToken(secureToken, forServer: server)
        return params
    }

    /// The session part of the login.
    var session: KeptSession {
        KeptSession(
            cookies: cookies.map { PydioCookie(name: $0.name, value: $0.value) }, secureToken: secureToken,
            keystoreToken: keyPair)
    }

    /// Takes over a client's current session.
    mutating func take(_ params: ServersParamsManager) {
        take(
            KeptSession(
                cookies: params.allServerCookies(server), secureToken: params.secureToken(forServer: server),
                keystoreToken: params.keystoreToken(forServer: server)))
    }

    mutating func take(_ session: KeptSession) {
        keyPair = session.keystoreToken
        secureToken = session.secureToken
        cookies = session.cookies.map { Cookie(name: $0.name, value: $0.value) }
    }

    /// Returns whether this is another session of the same login.
    func isOfSameAccount(as other: PydioLogin) -> Bool {
        Self.isSame(server, other.server) && deviceID == other.deviceID && user == other.user
    }

    /// Compares addresses, ignoring a trailing slash.
    static func isSame(_ one: URL, _ other: URL) -> Bool { normalized(one) == normalized(other) }

    private static func normalized(_ server: URL) -> String {
        let text = server.absoluteString
        return text.hasSuffix("/") ? text : text + "/"
    }
}

/// A login that needs the code of a captcha: session and seed must be those of the image.
struct PydioPendingLogin: Codable, Hashable, Confidential {
    let server: URL
    let user: String
    let seed: String?
    let cookies: [PydioLogin.Cookie]
    let secureToken: String?

    package var description: String { "\(user) on \(server.absoluteString)" }
}
