import MatrixProtocol

/// Who may join, read and do what in a new room.
public let kMXRoomPresetPrivateChat = "private_chat"
/// The same, and invited users may do all that the creator may.
public let kMXRoomPresetTrustedPrivateChat = "trusted_private_chat"
/// Everybody may join.
public let kMXRoomPresetPublicChat = "public_chat"

/// What a room is created with; nil leaves it to the server.
///
///     let parameters = MXRoomCreationParameters()
///     parameters.name = "Lobby"
///
/// What counts is what it says when it is handed to a call.
public final class MXRoomCreationParameters {
    /// The room's name.
    public var name: String?
    /// The room's topic.
    public var topic: String?
    /// The local part of an alias.
    public var roomAlias: String?
    /// Whether the directory shows it.
    public var visibility: MXRoomDirectoryVisibility?
    /// Ids of users to invite.
    public var inviteArray: [String]?
    /// Marks the invitations as those to a direct chat; `m.direct` is the client's to write.
    public var isDirect = false
    /// One of the `kMXRoomPreset…`.
    public var preset: String?
    /// Events with `type`, `state_key` and `content`.
    public var initialStateEvents: [[String: Any]]?
    /// More content of the event `m.room.create`.
    public var creationContent: [String: Any]?
    /// What differs from the server's power levels.
    public var powerLevelContentOverride: [String: Any]?
    /// Such as `12`.
    public var roomVersion: String?
    /// Such as `m.space`.
    public var roomType: String?
    /// Whether messages in it are to be encrypted.
    public var isEncrypted = false

    /// All is left to the server.
    public init() {}

    /// A direct chat: the other user is invited, and may do all that the creator may.
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
