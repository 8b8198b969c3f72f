public import MatrixSDK

/// What a fetcher has loaded, as a value.
public struct MXRoomListData: Sendable, Hashable {
    /// The rooms of all pages that are loaded, in order.
    public let rooms: [MXRoomSummary]
    /// How many rooms make a page.
    public let paginationOptions: MXRoomListDataPaginationOptions
    /// Of what is loaded.
    public let counts: MXRoomListDataCounts

    /// - Parameter pages: At least one.
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

    /// Whether there are rooms that are not loaded.
    public var hasMoreRooms: Bool { counts.total.map { rooms.count < $0.numberOfRooms } ?? false }

    /// - Parameter index: Of ``rooms``; any other is a mistake of the program, as with an array.
    public func room(atIndex index: Int) -> MXRoomSummary { rooms[index] }
}

/// How much there is of what in a list of rooms.
public struct MXRoomListDataCounts: Sendable, Hashable {
    /// How many rooms.
    public let numberOfRooms: Int
    /// Rooms with messages of our own that could not be sent.
    public let numberOfUnsentRooms: Int
    /// Rooms with notifications, and invitations.
    public let numberOfNotifiedRooms: Int
    /// Rooms with messages that name us.
    public let numberOfHighlightedRooms: Int
    /// Notifications of all rooms.
    public let numberOfNotifications: UInt
    /// Messages of all rooms that name us.
    public let numberOfHighlights: UInt
    /// How many invitations.
    public let numberOfInvitedRooms: Int
    /// At most one.
    private let totals: [MXRoomListDataCounts]

    /// The same with the pages that are not loaded; nil without pages.
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

    /// The server may count as it likes.
    private static func sum(_ counts: [Int]) -> UInt {
        counts.reduce(0) { sum, count in
            let (new, isTooMuch) = sum.addingReportingOverflow(UInt(max(count, 0)))
            return isTooMuch ? .max : new
        }
    }
}
