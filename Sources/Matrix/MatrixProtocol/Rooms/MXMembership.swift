/// A user's membership in a room (client-server specification, `m.room.member`).
public enum MXMembership: String, Sendable, Hashable, Codable {
    case unknown
    case invite
    case join
    case leave
    case ban
    case knock

    /// Creates a membership; `unknown` for values outside the specification.
    public init(identifier: String?) {
        self = identifier.flatMap { MXMembership(rawValue: $0) } ?? .unknown
    }
}
