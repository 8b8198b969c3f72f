import Basics

/// The stored state of a login, which another client can continue.
package struct KeptSession: Hashable, Sendable, Confidential {
    package let cookies: [PydioCookie]
    package let secureToken: String?
    package let keystoreToken: KeystoreToken?

    package init(cookies: [PydioCookie], secureToken: String?, keystoreToken: KeystoreToken?) {
        (self.cookies, self.secureToken, self.keystoreToken) = (cookies, secureToken, keystoreToken)
    }

    package var description: String { "a session" }
}
