import Foundation

/// Lenient decoding: one field that violates the specification does not make an answer unreadable.
extension KeyedDecodingContainer {
    /// Returns the value if it has this type, otherwise `nil`.
    func usable<Value: Decodable>(_ key: Key, as type: Value.Type = Value.self) -> Value? {
        (try? decodeIfPresent(type, forKey: key)) ?? nil
    }

    /// Returns a number without its fraction, or `nil` if it is not a number or does not fit.
    func wholePart(_ key: Key) -> Int? {
        usable(key, as: Int.self) ?? usable(key, as: Double.self).flatMap { $0.magnitude < 0x1p53 ? Int($0) : nil }
    }

    /// Returns the readable elements of an array.
    func readable<Element: Decodable>(_ key: Key, as type: Element.Type = Element.self) throws -> [Element] {
        try decode([Lenient<Element>].self, forKey: key).compactMap(\.value)
    }

    /// Returns the readable members of an object, or `nil` if it is not an object.
    func readableMembers<Element: Decodable>(
        _ key: Key, as type: Element.Type = Element.self
    ) -> [String: Element]? {
        usable(key, as: [String: Lenient<Element>].self)?.compactMapValues(\.value)
    }
}

/// A value, or `nil` if it cannot be decoded.
private struct Lenient<Value: Decodable>: Decodable {
    let value: Value?

    init(from decoder: any Decoder) throws { value = try? decoder.singleValueContainer().decode(Value.self) }
}

extension MXMatrixVersions {
    /// Skips fields that violate the specification.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        versions = try fields.readable(.versions)
        unstableFeatures = fields.readableMembers(.unstableFeatures)
    }
}

extension MXWhoAmI {
    /// Skips fields that violate the specification.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        userId = try fields.decode(String.self, forKey: .userId)
        (deviceId, isGuest) = (fields.usable(.deviceId), fields.usable(.isGuest))
    }
}

extension MXLoginToken {
    /// Skips fields that violate the specification.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        token = try fields.decode(String.self, forKey: .token)
        expiresIn = fields.wholePart(.expiresIn) ?? 0
    }
}

extension MXDevice {
    /// Skips fields that violate the specification.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        deviceId = try fields.decode(String.self, forKey: .deviceId)
        (displayName, lastSeenIp) = (fields.usable(.displayName), fields.usable(.lastSeenIp))
        lastSeenTs = fields.wholePart(.lastSeenTs).flatMap { UInt64(exactly: $0) }
    }
}

extension MXEventAtTime {
    /// Skips fields that violate the specification.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        eventId = try fields.decode(String.self, forKey: .eventId)
        originServerTs = fields.wholePart(.originServerTs).flatMap { UInt64(exactly: $0) } ?? 0
    }
}

extension MXPresenceStatus {
    /// Skips fields that violate the specification.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        presence = try fields.decode(String.self, forKey: .presence)
        (statusMessage, isCurrentlyActive) = (fields.usable(.statusMessage), fields.usable(.isCurrentlyActive))
        lastActiveAgo = fields.wholePart(.lastActiveAgo)
    }
}

extension MXUserSearchResponse {
    /// Skips fields that violate the specification.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        results = try fields.readable(.results)
        limited = fields.usable(.limited) ?? false
    }
}

extension MXUserSearchResponse.User {
    /// Skips fields that violate the specification.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        userId = try fields.decode(String.self, forKey: .userId)
        (displayName, avatarUrl) = (fields.usable(.displayName), fields.usable(.avatarUrl))
    }
}

extension MXRoomAliasResolution {
    /// Skips fields that violate the specification.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        roomId = try fields.decode(String.self, forKey: .roomId)
        servers = try? fields.readable(.servers)
    }
}

extension MXPublicRoomsResponse {
    /// Skips fields that violate the specification.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        chunk = try fields.readable(.chunk)
        (nextBatch, previousBatch) = (fields.usable(.nextBatch), fields.usable(.previousBatch))
        totalRoomCountEstimate = fields.wholePart(.totalRoomCountEstimate)
    }
}

extension MXPublicRoom {
    /// Skips fields that violate the specification.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        roomId = try fields.decode(String.self, forKey: .roomId)
        (name, topic, canonicalAlias) = (fields.usable(.name), fields.usable(.topic), fields.usable(.canonicalAlias))
        joinedMembersCount = fields.wholePart(.joinedMembersCount) ?? 0
        isWorldReadable = fields.usable(.isWorldReadable) ?? false
        guestCanJoin = fields.usable(.guestCanJoin) ?? false
        (avatarUrl, joinRule) = (fields.usable(.avatarUrl), fields.usable(.joinRule))
        roomType = fields.usable(.roomType)
    }
}
