public import MatrixSDK

/// The rooms loaded by a fetcher, as a value.
public struct MXRoomListData: Sendable, Hashable {
    /// The rooms of all loaded pages, in order.
    public let rooms: [MXRoomSummary]
    /// The number of rooms per page.
    public let paginationOptions: MXRoomListDataPaginationOptions
    /// The counts of the loaded rooms.
    public let counts: MXRoomListDataCounts

    /// - Parameter pages: The number of pages, at least 1.
    init(_ all: [ListedRoom], pages: Int, paginationOptions: MXRoomListDataPaginationOptions) {
        self.paginationOptions = paginationOptions
        guard let pageSize = paginationOptions.pageSize else {
            rooms = all.map(\.summary)
            counts = MXRoomListDataCounts(all)
            return
        }
        let (product, isTooMuch) = pageSize.multipliedReportingOverflow(by: pages)
        let loaded = all.prefix(isTooMuch ? .max : product)
        rooms = loaded.map(\.summary)
        counts = MXRoomListDataCounts(loaded, total: MXRoomListDataCounts(all))
    }

    /// Counted from 0; 0 without pages.
    public var currentPage: Int { paginationOptions.pageSize.map { max(rooms.count - 1, 0) / $0 } ?? 0 }

    /// Whether there are more rooms to load.
    public var hasMoreRooms: Bool { counts.total.map { rooms.count < $0.numberOfRooms } ?? false }

    /// - Parameter index: An index of ``rooms``; any other is a programming error, as with an array.
    public func room(atIndex index: Int) -> MXRoomSummary { rooms[index] }
}

/// The counts of a list of rooms.
public struct MXRoomListDataCounts: Sendable, Hashable {
    /// The number of rooms.
    public let numberOfRooms: Int
    /// The number of rooms with messages of the user that could not be sent.
    public let numberOfUnsentRooms: Int
    /// The number of rooms with notifications, including invitations.
    public let numberOfNotifiedRooms: Int
    /// The number of rooms with messages that mention the user.
    public let numberOfHighlightedRooms: Int
    /// The number of notifications in all rooms.
    public let numberOfNotifications: UInt
    /// The number of messages in all rooms that mention the user.
    public let numberOfHighlights: UInt
    /// The number of invitations.
    public let numberOfInvitedRooms: Int
    /// Holds at most one element.
    private let totals: [MXRoomListDataCounts]

    /// The counts including pages that are not loaded; `nil` without pages.
    public var total: MXRoomListDataCounts? { totals.first }

    init(_ rooms: some Collection<ListedRoom>, total: MXRoomListDataCounts? = nil) {
        let summaries = rooms.map(\.summary)
        numberOfRooms = rooms.count
        numberOfUnsentRooms = rooms.count { $0.hasUnsentMessages }
        numberOfInvitedRooms = summaries.count { $0.isTyped(.invited) }
        numberOfNotifiedRooms = summaries.count { $0.hasAnyNotification } + numberOfInvitedRooms
        numberOfHighlightedRooms = summaries.count { $0.hasAnyHighlight }
        numberOfNotifications = Self.sum(summaries.map(\.notificationCount))
        numberOfHighlights = Self.sum(summaries.map(\.highlightCount))
        totals = total.map { [$0] } ?? []
    }

    /// The server may send any counts.
    private static func sum(_ counts: [Int]) -> UInt {
        counts.reduce(0) { sum, count in
            let (new, isTooMuch) = sum.addingReportingOverflow(UInt(max(count, 0)))
            return isTooMuch ? .max : new
        }
    }
}
