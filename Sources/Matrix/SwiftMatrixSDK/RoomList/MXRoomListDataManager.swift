public import MatrixSDK

/// Creates lists of a session's rooms that stay up to date.
///
///     let options = MXRoomListDataFetchOptions(
///         filterOptions: MXRoomListDataFilterOptions(showAllRoomsInHomeSpace: true),
///         sortOptions: MXRoomListDataSortOptions(missedNotificationsFirst: true, unreadMessagesFirst: true))
///     fetcher = session.roomListDataManager.fetcher(withOptions: options)
///     fetcher.addDelegate(self)
///     fetcher.paginate()
///
/// It may be used from any thread.
public final class MXRoomListDataManager: Sendable {
    private weak let configured: MXSession?

    init(_ session: MXSession) {
        configured = session
    }

    /// The session whose rooms are listed; `nil` after it is gone. Held weakly.
    public var session: MXSession? { configured }

    /// Returns a new list, which is empty until you paginate it. Keep a reference to it: nothing else does.
    public func fetcher(withOptions options: MXRoomListDataFetchOptions) -> MXRoomListDataFetcher {
        MXRoomListDataFetcher(options, of: session)
    }
}

extension MXSession {
    // Programs for the iOS SDK use it with and without unwrapping.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Creates lists of the session's rooms. Never `nil`.
    public var roomListDataManager: MXRoomListDataManager! { MXRoomListDataManager(self) }
}
