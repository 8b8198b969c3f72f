import Basics

/// What a list of rooms shows, in which order, and how much of it at a time.
public final class MXRoomListDataFetchOptions: Sendable {
    private struct State: Sendable {
        var filter: MXRoomListDataFilterOptions
        var sort: MXRoomListDataSortOptions
        weak var fetcher: MXRoomListDataFetcher?
    }

    /// How many rooms make a page.
    public let paginationOptions: MXRoomListDataPaginationOptions
    /// Whether lists are made in the background: the delegate tells when one is there.
    public let async: Bool
    private let state: Lock<State>

    /// - Parameters:
    ///   - filterOptions: Which rooms.
    ///   - sortOptions: In which order.
    ///   - paginationOptions: Rooms of a page.
    ///   - async: Whether lists are made in the background.
    public init(
        filterOptions: MXRoomListDataFilterOptions, sortOptions: MXRoomListDataSortOptions,
        paginationOptions: MXRoomListDataPaginationOptions = .default, async: Bool = true
    ) {
        (self.paginationOptions, self.async) = (paginationOptions, async)
        state = Lock(State(filter: filterOptions, sort: sortOptions))
    }

    /// Which rooms. A change makes the fetcher's list anew.
    public var filterOptions: MXRoomListDataFilterOptions {
        get { state.withLock { $0.filter } }
        set { change { $0.filter = newValue } }
    }

    /// In which order. A change makes the fetcher's list anew.
    public var sortOptions: MXRoomListDataSortOptions {
        get { state.withLock { $0.sort } }
        set { change { $0.sort = newValue } }
    }

    private func change(_ change: (inout State) -> Void) {
        let fetcher = state.withLock { state -> MXRoomListDataFetcher? in
            let (filter, sort) = (state.filter, state.sort)
            change(&state)
            return (state.filter, state.sort) == (filter, sort) ? nil : state.fetcher
        }
        fetcher?.optionsChanged()
    }

    /// Tells `fetcher` of changes from now on.
    func serve(_ fetcher: MXRoomListDataFetcher) { state.withLock { $0.fetcher = fetcher } }
}

/// Which rooms a list shows.
public struct MXRoomListDataFilterOptions: Sendable, Hashable {
    /// No types.
    public static let emptyDataTypes: MXRoomSummaryDataTypes = []

    /// Only rooms with one of these; empty is all rooms.
    public var dataTypes: MXRoomSummaryDataTypes
    /// No rooms with one of these.
    public var notDataTypes: MXRoomSummaryDataTypes
    /// Only rooms whose name has this in it, whatever its case and accents; nil or empty is all rooms.
    public var query: String?
    /// Whether rooms are shown that a space has which we are in. Without it only direct chats and favourites of them are.
    public var showAllRoomsInHomeSpace: Bool
    /// Whether a room must have all of ``dataTypes``.
    public var strictMatches: Bool

    /// See the properties.
    public init(
        dataTypes: MXRoomSummaryDataTypes = emptyDataTypes,
        notDataTypes: MXRoomSummaryDataTypes = [.hidden, .conferenceUser, .space], query: String? = nil,
        showAllRoomsInHomeSpace: Bool, strictMatches: Bool = false
    ) {
        (self.dataTypes, self.notDataTypes, self.query) = (dataTypes, notDataTypes, query)
        (self.showAllRoomsInHomeSpace, self.strictMatches) = (showAllRoomsInHomeSpace, strictMatches)
    }
}

/// In which order a list shows rooms: by the first of these in which two rooms differ, in the order of the properties.
public struct MXRoomListDataSortOptions: Sendable, Hashable {
    /// By name, as people sort.
    public var alphabetical: Bool
    /// Invitations before rooms.
    public var invitesFirst: Bool
    /// First rooms with messages of our own that could not be sent.
    public var sentStatus: Bool
    /// First rooms with messages that name us, then those with other notifications.
    public var missedNotificationsFirst: Bool
    /// First rooms with something unread.
    public var unreadMessagesFirst: Bool
    /// The room with the newest message first.
    public var lastEventDate: Bool
    /// Favourites first, the one with the least order before others.
    public var favoriteTag: Bool

    /// See the properties.
    public init(
        invitesFirst: Bool = true, sentStatus: Bool = true, lastEventDate: Bool = true, favoriteTag: Bool = false,
        alphabetical: Bool = false, missedNotificationsFirst: Bool, unreadMessagesFirst: Bool
    ) {
        (self.invitesFirst, self.sentStatus, self.lastEventDate) = (invitesFirst, sentStatus, lastEventDate)
        (self.favoriteTag, self.alphabetical) = (favoriteTag, alphabetical)
        (self.missedNotificationsFirst, self.unreadMessagesFirst) = (missedNotificationsFirst, unreadMessagesFirst)
    }
}

/// How many rooms make a page.
public enum MXRoomListDataPaginationOptions: Sendable, Hashable {
    /// No pages: all rooms at once.
    case none
    /// Ten.
    case `default`
    /// So many; less than one is one.
    case custom(Int)

    /// Nil for all.
    var pageSize: Int? {
        switch self {
        case .none: nil
        case .default: 10
        case .custom(let count): max(count, 1)
        }
    }
}
