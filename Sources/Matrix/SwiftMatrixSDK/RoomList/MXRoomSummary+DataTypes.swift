public import MatrixSDK

/// The type of summaries in lists of rooms.
public typealias MXRoomSummaryProtocol = MXRoomSummary

/// The types of a room, which may have several.
public struct MXRoomSummaryDataTypes: OptionSet, Sendable, Hashable {
    /// The bits used by the iOS SDK.
    public let rawValue: Int

    /// Creates a set from ``rawValue``.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// The user is invited.
    public static let invited = MXRoomSummaryDataTypes(rawValue: 1 << 0)
    /// The room is a favourite.
    public static let favorited = MXRoomSummaryDataTypes(rawValue: 1 << 1)
    /// The room is a direct chat.
    public static let direct = MXRoomSummaryDataTypes(rawValue: 1 << 2)
    /// The room has low priority.
    public static let lowPriority = MXRoomSummaryDataTypes(rawValue: 1 << 3)
    /// The room has notices from the server.
    public static let serverNotice = MXRoomSummaryDataTypes(rawValue: 1 << 4)
    /// The room was replaced by another one that the user has joined.
    public static let hidden = MXRoomSummaryDataTypes(rawValue: 1 << 5)
    /// The room is a space.
    public static let space = MXRoomSummaryDataTypes(rawValue: 1 << 6)
    /// A conference room of the iOS SDK. There are none here.
    public static let conferenceUser = MXRoomSummaryDataTypes(rawValue: 1 << 7)
    /// The room has notifications.
    public static let unread = MXRoomSummaryDataTypes(rawValue: 1 << 8)
}

extension MXRoomSummary {
    /// The room's types.
    public var dataTypes: MXRoomSummaryDataTypes {
        var types: MXRoomSummaryDataTypes = []
        if membership == .invite { types.insert(.invited) }
        if tags["m.favourite"] != nil { types.insert(.favorited) }
        if isDirect { types.insert(.direct) }
        if tags["m.lowpriority"] != nil { types.insert(.lowPriority) }
        if tags["m.server_notice"] != nil { types.insert(.serverNotice) }
        if hiddenFromUser { types.insert(.hidden) }
        if roomType == "m.space" { types.insert(.space) }
        if hasAnyNotification { types.insert(.unread) }
        return types
    }

    /// Returns whether the room has one of these types.
    public func isTyped(_ types: MXRoomSummaryDataTypes) -> Bool { !dataTypes.isDisjoint(with: types) }

    /// Whether the room has unread messages, or the user has marked it as unread.
    public var hasAnyUnread: Bool { localUnreadEventCount > 0 || isMarkedUnread }
    /// Whether the room has notifications.
    public var hasAnyNotification: Bool { notificationCount > 0 }
    /// Whether the room has messages that mention the user.
    public var hasAnyHighlight: Bool { highlightCount > 0 }
}
