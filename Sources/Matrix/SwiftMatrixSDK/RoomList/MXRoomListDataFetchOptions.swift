import Basics

/// The filter, order and pagination of a list of rooms.
public final class MXRoomListDataFetchOptions: Sendable {
    private struct State: Sendable {
        var filter: MXRoomListDataFilterOptions
        var sort: MXRoomListDataSortOptions
        weak var fetcher: MXRoomListDataFetcher?
    }

    /// The number of rooms per page.
    public let paginationOptions: MXRoomListDataPaginationOptions
    /// Whether lists are created in the background; the delegate is notified of each.
    public let async: Bool
    private let state: Lock<State>

    /// - Parameters:
    ///   - filterOptions: The rooms to list.
    ///   - sortOptions: The order of the rooms.
    ///   - paginationOptions: The number of rooms per page.
    ///   - async: Whether to create lists in the background.
    public init(
        filterOptions: MXRoomListDataFilterOptions, sortOptions: MXRoomListDataSortOptions,
        paginationOptions: MXRoomListDataPaginationOptions = .default, async: Bool = true
    ) {
        (self.paginationOptions, self.async) = (paginationOptions, async)
        state = Lock(State(filter: filterOptions, sort: sortOptions))
    }

    /// The rooms to list. A change recreates the fetcher's list.
    public var filterOptions: MXRoomListDataFilterOptions {
        get { state.withLock { $0.filter } }
        set { change { $0.filter = newValue } }
    }

    /// The order of the rooms. A change recreates the fetcher's list.
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

    /// Notifies `fetcher` of changes from now on.
    func serve(_ fetcher: MXRoomListDataFetcher) { state.withLock { $0.fetcher = fetcher } }
}

/// The rooms that a list shows.
public struct MXRoomListDataFilterOptions: Sendable, Hashable {
    /// An empty set of types.
    public static let emptyDataTypes: MXRoomSummaryDataTypes = []

    /// Only show rooms with one of these types; an empty set shows all rooms.
    public var dataTypes: MXRoomSummaryDataTypes
    /// Don't show rooms with one of these types.
    public var notDataTypes: MXRoomSummaryDataTypes
    /// Only show rooms whose name contains this text, ignoring case and accents; `nil` or an empty string shows all
    /// rooms.
    public var query: String?
    /// Whether to show rooms that are in a space the user has joined. If false, only direct chats and favourites among
    /// them are shown.
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

/// The order of a list of rooms. The first of these criteria in which two rooms differ decides, in the order of the
/// properties.
public struct MXRoomListDataSortOptions: Sendable, Hashable {
    /// Sorts by name, as people expect.
    public var alphabetical: Bool
    /// Puts invitations first.
    public var invitesFirst: Bool
    /// Puts rooms with unsent messages of the user first.
    public var sentStatus: Bool
    /// Puts rooms with messages that mention the user first, then rooms with other notifications.
    public var missedNotificationsFirst: Bool
    /// Puts rooms with unread messages first.
    public var unreadMessagesFirst: Bool
    /// Puts the room with the newest message first.
    public var lastEventDate: Bool
    /// Puts favourites first, those with the lowest order before others.
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

/// The number of rooms per page.
public enum MXRoomListDataPaginationOptions: Sendable, Hashable {
    /// No pages: shows all rooms at once.
    case none
    /// Ten rooms.
    case `default`
    /// This number of rooms; less than one counts as one.
    case custom(Int)

    /// `nil` for all.
    var pageSize: Int? {
        switch self {
        case .none: nil
        case .default: 10
        case .custom(let count): max(count, 1)
        }
    }
}
