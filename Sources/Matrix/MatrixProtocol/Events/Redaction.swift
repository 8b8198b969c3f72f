import JSONBytes

extension MXEvent {
    /// Returns the redacted form of the event (client-server specification, "Redactions"). It keeps its place in the
    /// room, and the content that the room's rules need. An event that was already redacted is unchanged.
    ///
    /// - Parameters:
    ///   - redaction: The redaction. It is added to `unsigned`, as the server does.
    ///   - roomVersion: The version of the room, which determines what is kept.
    public func pruned(by redaction: MXEvent, roomVersion: String?) -> MXEvent {
        guard !isRedacted else { return self }
        let version = RoomVersion(roomVersion)
        var object = JSONWriter()
        for (key, value) in json.members where Self.keptKeys.contains(key) { object.add(key, value) }
        object.add("content", prunedContent(version))
        var unsigned = JSONWriter()
        for (key, value) in self.unsigned?.members ?? [] where Self.keptUnsignedKeys.contains(key) {
            unsigned.add(key, value)
        }
        unsigned.add("redacted_because", redaction.json)
        object.add("unsigned", unsigned)
        return MXEvent(json: object.view, roomId: roomId) ?? self
    }

    private static let keptKeys: Set<String> = [
        "event_id", "type", "room_id", "sender", "state_key", "hashes", "signatures", "depth", "prev_events",
        "auth_events", "origin_server_ts",
    ]

    /// The keys that the client itself uses. They reveal nothing of the redacted content.
    private static let keptUnsignedKeys: Set<String> = [
        "transaction_id", "replaces_state", "prev_content", "prev_sender", "membership",
    ]

    private func prunedContent(_ version: RoomVersion) -> JSONWriter {
        var content = JSONWriter()
        for (key, value) in wireContent.members {
            if wireType == "m.room.member", key == "third_party_invite" {
                guard version.number >= 11, let signed = value["signed"] else { continue }
                var invite = JSONWriter()
                invite.add("signed", signed)
                content.add(key, invite)
            } else if Self.isKept(key, in: wireType, version.number) {
                content.add(key, value)
            }
        }
        return content
    }

    private static func isKept(_ key: String, in type: String, _ version: Int) -> Bool {
        switch (type, key) {
        case ("m.room.member", "membership"), ("m.room.join_rules", "join_rule"),
            ("m.room.history_visibility", "history_visibility"), ("m.room.create", "creator"):
            true
        case ("m.room.create", _): version >= 11
        case ("m.room.member", "join_authorised_via_users_server"): version >= 9
        case ("m.room.join_rules", "allow"): version >= 8
        case ("m.room.aliases", "aliases"): version <= 5
        case ("m.room.redaction", "redacts"), ("m.room.power_levels", "invite"): version >= 11
        case ("m.room.power_levels", _): keptPowerLevels.contains(key)
        default: false
        }
    }

    private static let keptPowerLevels: Set<String> = [
        "ban", "events", "events_default", "kick", "redact", "state_default", "users", "users_default",
    ]
}
