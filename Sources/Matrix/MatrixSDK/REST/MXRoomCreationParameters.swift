import MatrixProtocol

/// The preset of a private chat: who may join, read and do what.
public let kMXRoomPresetPrivateChat = "private_chat"
/// Like a private chat, but invited users have the power of the creator.
public let kMXRoomPresetTrustedPrivateChat = "trusted_private_chat"
/// The preset of a room that anyone can join.
public let kMXRoomPresetPublicChat = "public_chat"

/// Parameters for creating a room. The server chooses those that are `nil`.
///
///     let parameters = MXRoomCreationParameters()
///     parameters.name = "Lobby"
///
/// A call uses the values at the time it is made.
public final class MXRoomCreationParameters {
    /// The room's name.
    public var name: String?
    /// The room's topic.
    public var topic: String?
    /// The local part of an alias.
    public var roomAlias: String?
    /// Whether the directory lists the room.
    public var visibility: MXRoomDirectoryVisibility?
    /// Ids of users to invite.
    public var inviteArray: [String]?
    /// Whether to mark the invitations as invitations to a direct chat. The client itself must update `m.direct`.
    public var isDirect = false
    /// One of the `kMXRoomPreset…` constants.
    public var preset: String?
    /// Events with `type`, `state_key` and `content`.
    public var initialStateEvents: [[String: Any]]?
    /// Additional content of the `m.room.create` event.
    public var creationContent: [String: Any]?
    /// Overrides of the server's default power levels.
    public var powerLevelContentOverride: [String: Any]?
    /// The room version, such as `12`.
    public var roomVersion: String?
    /// The room type, such as `m.space`.
    public var roomType: String?
    /// Whether to encrypt the room.
    public var isEncrypted = false

    /// Leaves everything to the server.
    public init() {}

    /// Creates parameters for a direct chat: the other user is invited, with the same power as the creator.
    public convenience init(forDirectRoomWithUser userId: String) {
        self.init()
        inviteArray = [userId]
        isDirect = true
        preset = kMXRoomPresetTrustedPrivateChat
    }

    package var encoded: EncodedJSON {
        var fields: [String: Any] = [:]
        fields["name"] = name
        fields["topic"] = topic
        fields["room_alias_name"] = roomAlias
        fields["visibility"] = visibility?.rawValue
        fields["invite"] = inviteArray
        fields["is_direct"] = isDirect ? true : nil
        fields["preset"] = preset
        fields["power_level_content_override"] = powerLevelContentOverride
        fields["room_version"] = roomVersion
        var creation = creationContent ?? [:]
        if let roomType { creation["type"] = roomType }
        fields["creation_content"] = creation.isEmpty ? nil : creation
        let encryption: [[String: Any]] = [
            ["type": "m.room.encryption", "state_key": "", "content": ["algorithm": "m.megolm.v1.aes-sha2"]]
        ]
        let state = (initialStateEvents ?? []) + (isEncrypted ? encryption : [])
        fields["initial_state"] = state.isEmpty ? nil : state
        return EncodedJSON(fields)
    }
}
