import Foundation

/// One field that is not what the specification says does not make an answer unreadable.
extension KeyedDecodingContainer {
    /// What is there if it is of this type, else nil.
    func usable<Value: Decodable>(_ key: Key, as type: Value.Type = Value.self) -> Value? {
        (try? decodeIfPresent(type, forKey: key)) ?? nil
    }

    /// A number without its fraction; nil if it is none or does not fit.
    func wholePart(_ key: Key) -> Int? {
        usable(key, as: Int.self) ?? usable(key, as: Double.self).flatMap { $0.magnitude < 0x1p53 ? Int($0) : nil }
    }

    /// The elements of an array that can be read.
    func readable<Element: Decodable>(_ key: Key, as type: Element.Type = Element.self) throws -> [Element] {
        try decode([Lenient<Element>].self, forKey: key).compactMap(\.value)
    }

    /// The members of an object that can be read; nil if it is none.
    func readableMembers<Element: Decodable>(
        _ key: Key, as type: Element.Type = Element.self
    ) -> [String: Element]? {
        usable(key, as: [String: Lenient<Element>].self)?.compactMapValues(\.value)
    }
}

/// A value, or nil for what is none.
private struct Lenient<Value: Decodable>: Decodable {
    let value: Value?

    init(from decoder: any Decoder) throws { value = try? decoder.singleValueContainer().decode(Value.self) }
}

extension MXMatrixVersions {
    /// What is not as the specification says is left out.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        versions = try fields.readable(.versions)
        unstableFeatures = fields.readableMembers(.unstableFeatures)
    }
}

extension MXWhoAmI {
    /// What is not as the specification says is left out.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        userId = try fields.decode(String.self, forKey: .userId)
        (deviceId, isGuest) = (fields.usable(.deviceId), fields.usable(.isGuest))
    }
}

extension MXLoginToken {
    /// What is not as the specification says is left out.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        token = try fields.decode(String.self, forKey: .token)
        expiresIn = fields.wholePart(.expiresIn) ?? 0
    }
}

extension MXDevice {
    /// What is not as the specification says is left out.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        deviceId = try fields.decode(String.self, forKey: .deviceId)
        (displayName, lastSeenIp) = (fields.usable(.displayName), fields.usable(.lastSeenIp))
        lastSeenTs = fields.wholePart(.lastSeenTs).flatMap { UInt64(exactly: $0) }
    }
}

extension MXEventAtTime {
    /// What is not as the specification says is left out.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        eventId = try fields.decode(String.self, forKey: .eventId)
        originServerTs = fields.wholePart(.originServerTs).flatMap { UInt64(exactly: $0) } ?? 0
    }
}

extension MXPresenceStatus {
    /// What is not as the specification says is left out.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        presence = try fields.decode(String.self, forKey: .presence)
        (statusMessage, isCurrentlyActive) = (fields.usable(.statusMessage), fields.usable(.isCurrentlyActive))
        lastActiveAgo = fields.wholePart(.lastActiveAgo)
    }
}

extension MXUserSearchResponse {
    /// What is not as the specification says is left out.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        results = try fields.readable(.results)
        limited = fields.usable(.limited) ?? false
    }
}

extension MXUserSearchResponse.User {
    /// What is not as the specification says is left out.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        userId = try fields.decode(String.self, forKey: .userId)
        (displayName, avatarUrl) = (fields.usable(.displayName), fields.usable(.avatarUrl))
    }
}

extension MXRoomAliasResolution {
    /// What is not as the specification says is left out.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        roomId = try fields.decode(String.self, forKey: .roomId)
        servers = try? fields.readable(.servers)
    }
}

extension MXPublicRoomsResponse {
    /// What is not as the specification says is left out.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        chunk = try fields.readable(.chunk)
        (nextBatch, previousBatch) = (fields.usable(.nextBatch), fields.usable(.previousBatch))
        totalRoomCountEstimate = fields.wholePart(.totalRoomCountEstimate)
    }
}

extension MXPublicRoom {
    /// What is not as the specification says is left out.
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
