public import MatrixSDK

/// What lists of rooms take for a summary.
public typealias MXRoomSummaryProtocol = MXRoomSummary

/// What sorts of rooms there are; one may be of several.
public struct MXRoomSummaryDataTypes: OptionSet, Sendable, Hashable {
    /// The bits of the iOS SDK.
    public let rawValue: Int

    /// See ``rawValue``.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// We are invited.
    public static let invited = MXRoomSummaryDataTypes(rawValue: 1 << 0)
    /// A favourite.
    public static let favorited = MXRoomSummaryDataTypes(rawValue: 1 << 1)
    /// A direct chat.
    public static let direct = MXRoomSummaryDataTypes(rawValue: 1 << 2)
    /// Of low priority.
    public static let lowPriority = MXRoomSummaryDataTypes(rawValue: 1 << 3)
    /// The server's own words.
    public static let serverNotice = MXRoomSummaryDataTypes(rawValue: 1 << 4)
    /// Replaced by another room that we are in.
    public static let hidden = MXRoomSummaryDataTypes(rawValue: 1 << 5)
    /// A space.
    public static let space = MXRoomSummaryDataTypes(rawValue: 1 << 6)
    /// A room of the iOS SDK's conferences. There are none here.
    public static let conferenceUser = MXRoomSummaryDataTypes(rawValue: 1 << 7)
    /// With notifications.
    public static let unread = MXRoomSummaryDataTypes(rawValue: 1 << 8)
}

extension MXRoomSummary {
    /// What sorts of room it is.
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

    /// Whether it is of one of these sorts.
    public func isTyped(_ types: MXRoomSummaryDataTypes) -> Bool { !dataTypes.isDisjoint(with: types) }

    /// Whether there is something unread, or the user says so.
    public var hasAnyUnread: Bool { localUnreadEventCount > 0 || isMarkedUnread }
    /// Whether there are notifications.
    public var hasAnyNotification: Bool { notificationCount > 0 }
    /// Whether there are messages that name us.
    public var hasAnyHighlight: Bool { highlightCount > 0 }
}
