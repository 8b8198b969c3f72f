package import Basics
import Foundation
package import Transport

/// A cookie of a server. A session cookie is temporarily equivalent to a password.
public struct PydioCookie: Sendable, Hashable {
    /// The cookie's name, such as `AjaXplorer`.
    public let name: String
    /// The value to send back.
    public let value: String

    /// Creates an instance with the given properties.
    public init(name: String, value: String) {
        (self.name, self.value) = (name, value)
    }
}

extension PydioCookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name, without the value.
    public var description: String { name }
    /// The name, without the value.
    public var debugDescription: String { name }
    /// An empty mirror, because reflection would show the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The cookies of one server. Servers on the same host are distinguished by address: they all use the same cookie
/// names, and set them for the whole host (RFC 6265 with the folder of the server's script as its site).
package struct CookieJar: Hashable, Sendable, Confidential {
    private struct Stored: Hashable {
        var cookie: PydioCookie
        var isSecure: Bool
        /// The time at which the cookie expires; `nil` if it lasts as long as the session.
        var expiry: MonotonicInstant?
    }

    /// The name of the session's cookie.
    package static let sessionCookie = "AjaXplorer"
    /// The name of the cookie for a login that outlives the session.
    package static let rememberedCookie = "AjaXplorer-remember"
    private static let maximumCount = 50
    private static let maximumSize = 4096

    private var stored: [Stored] = []

    package init() {}

    package var description: String { "\(stored.count) cookies" }

    /// Stores the cookies that an answer sets.
    ///
    /// - Parameter seconds: The time of day, since 1970, for cookies with an expiry date.
    package mutating func take(_ fields: HTTPFields, from server: ServerAddress, now: MonotonicInstant, seconds: Int) {
        for field in fields.fields where field.name.equalsIgnoringASCIICase("Set-Cookie") {
            take(field.value, from: server, now: now, seconds: seconds)
        }
    }

    private mutating func take(_ text: String, from server: ServerAddress, now: MonotonicInstant, seconds: Int) {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false).map { $0.trimmed }
        guard text.utf8.count <= Self.maximumSize, let pair = parts.first, let equals = pair.firstIndex(of: "=") else {
            return
        }
        let cookie = PydioCookie(name: pair[..<equals].trimmed, value: pair[pair.index(after: equals)...].trimmed)
        guard !cookie.name.isEmpty, (cookie.name + cookie.value).unicodeScalars.allSatisfy(Self.isAllowed) else {
            return
        }
        let attributes = Attributes(parts.dropFirst())
        guard attributes.isFor(server), !attributes.isSecure || server.isSecure else { return }
        stored.removeAll { $0.cookie.name == cookie.name }
        let life = attributes.life(seconds: seconds)
        guard life.map({ $0 > .zero }) ?? true, stored.count < Self.maximumCount else { return }
        stored.append(Stored(cookie: cookie, isSecure: attributes.isSecure, expiry: life.map { now + $0 }))
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value > 0x20 && scalar.value < 0x7F && scalar != ";" && scalar != ","
    }

    /// Returns the valid cookies, in the order in which they were set.
    package func cookies(now: MonotonicInstant) -> [PydioCookie] {
        stored.filter { $0.expiry.map { $0 > now } ?? true }.map(\.cookie)
    }

    /// Returns the value of the field `Cookie`; `nil` without cookies.
    package func field(now: MonotonicInstant) -> String? {
        let cookies = cookies(now: now)
        return cookies.isEmpty ? nil : cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// Adds a stored cookie for the duration of the session. Ignores an invalid one.
    package mutating func add(_ cookie: PydioCookie) {
        guard !cookie.name.isEmpty, (cookie.name + cookie.value).unicodeScalars.allSatisfy(Self.isAllowed),
            cookie.name.utf8.count + cookie.value.utf8.count <= Self.maximumSize
        else { return }
        stored.removeAll { $0.cookie.name == cookie.name }
        guard stored.count < Self.maximumCount else { return }
        stored.append(Stored(cookie: cookie, isSecure: false, expiry: nil))
    }

    package var isRemembered: Bool { stored.contains { $0.cookie.name == Self.rememberedCookie } }

    /// Removes all cookies except that of a login that outlives the session.
    mutating func removeSession() {
        stored.removeAll { $0.cookie.name != Self.rememberedCookie }
    }

    package mutating func removeAll() {
        stored = []
    }

    private struct Attributes {
        var path: String?
        var domain: String?
        var maxAge: String?
        var expires: String?
        var isSecure = false

        init(_ parts: some Sequence<String>) {
            for part in parts {
                let pair = part.split(separator: "=", maxSplits: 1)
                let value = pair.count > 1 ? pair[1].trimmed : ""
                switch pair.first?.trimmed.lowercased() {
                case "path": path = value
                case "domain": domain = value.hasPrefix(".") ? String(value.dropFirst()) : value
                case "max-age": maxAge = value
                case "expires": expires = value
                case "secure": isSecure = true
                default: break  // HttpOnly and SameSite don't apply: this client is not a browser
                }
            }
        }

        /// Returns whether to send the cookie to the server's script.
        func isFor(_ server: ServerAddress) -> Bool {
            if let domain, !domain.isEmpty {
                let host = server.host.lowercased()
                let name = domain.lowercased()
                guard host == name || host.hasSuffix("." + name) else { return false }
            }
            guard let path, path.hasPrefix("/"), path != "/" else { return true }
            return server.path.hasPrefix(path.hasSuffix("/") ? path : path + "/")
        }

        /// Returns the cookie's lifetime; `nil` if it lasts as long as the session.
        func life(seconds: Int) -> Duration? {
            if let maxAge {
                return Int(maxAge).map { .seconds(min(max($0, 0), 10 * 365 * 86_400)) }
            }
            return expires.flatMap { HTTPDate.seconds($0) }.map { .seconds($0 - seconds) }
        }
    }
}

extension Substring {
    fileprivate var trimmed: String { String(self).trimmed }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespaces) }
}
