public import MatrixSDK

/// Makes lists of a session's rooms that keep themselves up to date.
///
///     let options = MXRoomListDataFetchOptions(
///         filterOptions: MXRoomListDataFilterOptions(showAllRoomsInHomeSpace: true),
///         sortOptions: MXRoomListDataSortOptions(missedNotificationsFirst: true, unreadMessagesFirst: true))
///     fetcher = session.roomListDataManager.fetcher(withOptions: options)
///     fetcher.addDelegate(self)
///     fetcher.paginate()
///
/// May be used from any thread.
public final class MXRoomListDataManager: Sendable {
    private weak let configured: MXSession?

    init(_ session: MXSession) {
        configured = session
    }

    /// The session whose rooms are listed; nil when it is gone. Held weakly.
    public var session: MXSession? { configured }

    /// A list of its own, which is empty until it is paginated. Keep it: nobody else does.
    public func fetcher(withOptions options: MXRoomListDataFetchOptions) -> MXRoomListDataFetcher {
        MXRoomListDataFetcher(options, of: session)
    }
}

extension MXSession {
    // Programs for the iOS SDK use it with and without unwrapping.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// Makes lists of the session's rooms. Never nil.
    public var roomListDataManager: MXRoomListDataManager! { MXRoomListDataManager(self) }
}
