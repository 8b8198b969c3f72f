import Basics

/// What a homeserver's answer to a login says that was not asked for. The login holds all the same: look whether it is meant.
@nonexhaustive
public enum MXLoginWarning: Sendable, Hashable {
    /// Another user is logged in.
    case otherUser(asked: String, given: String)
    /// The client goes on with another server, which the answer names in its `well_known`: URLs.
    case otherServer(asked: String, given: String)

    /// - Parameter asked: A user id, or its local part. Servers may write its letters small.
    /// - Returns: Nil if it is the user's.
    package init?(asked: String, given: String) {
        let (wanted, user) = (asked.lowercased(), given.lowercased())
        let isSame =
            wanted.hasPrefix("@")
            ? user.isExactly(wanted) : user.utf8.starts(with: "@\(wanted):".utf8)
        guard !isSame else { return nil }
        self = .otherUser(asked: asked, given: given)
    }
}

extension MXLoginWarning: CustomStringConvertible {
    /// For people.
    public var description: String {
        switch self {
        case .otherUser(let asked, let given): "the homeserver logged in \(given) instead of \(asked)"
        case .otherServer(let asked, let given): "\(asked) passes this login on to \(given), which is used from now on"
        }
    }
}
