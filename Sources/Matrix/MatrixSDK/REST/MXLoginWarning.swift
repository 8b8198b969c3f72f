import Basics

/// Something in a homeserver's answer to a login that the client did not ask for. The login is still valid; check
/// whether this is intended.
@nonexhaustive
public enum MXLoginWarning: Sendable, Hashable {
    /// The server logged in another user.
    case otherUser(asked: String, given: String)
    /// The client continues with another server, named in the answer's `well_known`. Both values are URLs.
    case otherServer(asked: String, given: String)

    /// - Parameter asked: A user id, or its local part. Servers may lowercase it.
    /// - Returns: `nil` if the answer is for this user.
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
    /// A human-readable description.
    public var description: String {
        switch self {
        case .otherUser(let asked, let given): "the homeserver logged in \(given) instead of \(asked)"
        case .otherServer(let asked, let given): "\(asked) passes this login on to \(given), which is used from now on"
        }
    }
}
