/// How a user stands to a room (client-server specification, `m.room.member`).
public enum MXMembership: String, Sendable, Hashable, Codable {
    case unknown
    case invite
    case join
    case leave
    case ban
    case knock

    /// Of anything else than the specification's words: `unknown`.
    public init(identifier: String?) {
        self = identifier.flatMap { MXMembership(rawValue: $0) } ?? .unknown
    }
}
