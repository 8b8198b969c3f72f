/// A valid channel name, and the properties of the channel that follow from its prefix.
///
/// Pusher protocol, "Channel naming conventions": `A–Z a–z 0–9 _ - = @ , . ;`, at most 164 characters. A name that
/// starts with `#server-to-user-` is internal.
package struct ChannelName: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        case `public`
        case `private`
        case encrypted
        case presence
        /// Carries the events sent to one signed-in user.
        case serverToUser
    }

    package static let maximumLength = 164
    /// The maximum length of the part after ``serverToUserPrefix``: servers name that channel themselves.
    package static let maximumUserIDLength = 200
    package static let serverToUserPrefix = "#server-to-user-"

    package let string: String
    package var kind: Kind
    /// Whether the server caches the last event for new subscribers.
    package var isCached: Bool

    package init(_ string: String) throws(InvalidChannelName) {
        let body: Substring
        if string.hasPrefix(Self.serverToUserPrefix) {
            body = string.dropFirst(Self.serverToUserPrefix.count)
            (kind, isCached) = (.serverToUser, false)
        } else {
            body = string[...]
            (kind, isCached) =
                Self.prefixes.first { string.hasPrefix($0.text) }.map { ($0.kind, $0.isCached) }
                ?? (.public, false)
        }
        guard !body.isEmpty else { throw InvalidChannelName(name: string, rule: "it is empty") }
        let (count, limit) =
            kind == .serverToUser
            ? (body.utf8.count, Self.maximumUserIDLength) : (string.utf8.count, Self.maximumLength)
        guard count <= limit else {
            throw InvalidChannelName(name: string, rule: "it has \(count) characters, at most \(limit) are allowed")
        }
        guard body.utf8.allSatisfy(Self.isAllowed) else {
            throw InvalidChannelName(name: string, rule: "only letters, digits and _ - = @ , . ; are allowed")
        }
        self.string = string
    }

    package var description: String { string }

    /// Whether a subscription needs the signature of the application's server.
    package var needsAuthorization: Bool {
        switch kind {
        case .private, .encrypted, .presence: true
        case .public, .serverToUser: false
        }
    }

    /// Whether the server forwards `client-` events here.
    package var allowsClientEvents: Bool {
        switch kind {
        case .private, .presence: true
        case .public, .encrypted, .serverToUser: false
        }
    }

    /// The prefixes with their dash, longest first.
    private static let prefixes: [(text: String, kind: Kind, isCached: Bool)] = [
        ("private-encrypted-cache-", .encrypted, true),
        ("private-encrypted-", .encrypted, false),
        ("private-cache-", .private, true),
        ("private-", .private, false),
        ("presence-cache-", .presence, true),
        ("presence-", .presence, false),
        ("cache-", .public, true),
    ]

    /// Returns whether this is a valid channel name.
    static func isValid(_ name: ArraySlice<UInt8>) -> Bool {
        let prefix = serverToUserPrefix.utf8
        guard name.starts(with: prefix) else { return isValid(body: name, maximumLength) }
        return isValid(body: name.dropFirst(prefix.count), maximumUserIDLength)
    }

    private static func isValid(body: ArraySlice<UInt8>, _ limit: Int) -> Bool {
        !body.isEmpty && body.count <= limit && body.allSatisfy(isAllowed)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "="),
            UInt8(ascii: "@"), UInt8(ascii: ","), UInt8(ascii: "."), UInt8(ascii: ";"):
            true
        default: false
        }
    }
}

/// A text that cannot be the name of a channel.
package struct InvalidChannelName: Error, Hashable, Sendable, CustomStringConvertible {
    package let name: String
    package let rule: String

    package init(name: String, rule: String) {
        self.name = name
        self.rule = rule
    }

    package var description: String { "“\(name.prefix(200))” cannot be a channel name: \(rule)" }
}
