import Basics
import Foundation
import PydioSDK

/// What `login` leaves for the commands after it: who is logged in where, and what that is proved by.
package struct PydioLogin: Codable, Hashable, Confidential {
    /// Of a session.
    struct Cookie: Codable, Hashable {
        let name: String
        let value: String
    }

    let server: URL
    let user: String
    /// What the server calls a key pair by.
    let deviceID: String
    /// Nil where a key pair stands for it, and where it was not to be kept.
    var password: String?
    var keyPair: KeystoreToken?
    var secureToken: String?
    var cookies: [Cookie] = []

    package var description: String { "\(user) on \(server.absoluteString)" }

    /// Whether the server remembers it when the session is over.
    var isRemembered: Bool { cookies.contains { $0.name == CookieJar.rememberedCookie } }

    /// What a client needs to go on where this one was.
    func makeParams() -> ServersParamsManager {
        let params = ServersParamsManager(deviceId: deviceID)
        // First: another user ends a session.
        if let password { params.setUser(User(userid: user, password: password), forServer: server) }
        params.setKeystoreToken(keyPair, forServer: server)
        params.setCookies(cookies.map { PydioCookie(name: $0.name, value: $0.value) }, forServer: server)
        params.setSecureToken(secureToken, forServer: server)
        return params
    }

    /// The session alone.
    var session: KeptSession {
        KeptSession(
            cookies: cookies.map { PydioCookie(name: $0.name, value: $0.value) }, secureToken: secureToken,
            keystoreToken: keyPair)
    }

    /// Takes over the session that a client has by now.
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

    /// Whether it is another session of the same login.
    func isOfSameAccount(as other: PydioLogin) -> Bool {
        Self.isSame(server, other.server) && deviceID == other.deviceID && user == other.user
    }

    /// Addresses differ by a slash at the end at most.
    static func isSame(_ one: URL, _ other: URL) -> Bool { normalized(one) == normalized(other) }

    private static func normalized(_ server: URL) -> String {
        let text = server.absoluteString
        return text.hasSuffix("/") ? text : text + "/"
    }
}

/// A login that waits for the code of a captcha: session and seed must be those that the image was made for.
struct PydioPendingLogin: Codable, Hashable, Confidential {
    let server: URL
    let user: String
    let seed: String?
    let cookies: [PydioLogin.Cookie]
    let secureToken: String?

    package var description: String { "\(user) on \(server.absoluteString)" }
}
