import Basics
import Dispatch
import MatrixSDK

/// Told of changes of a list of rooms. On the main thread.
@MainActor
public protocol MXRoomListDataFetcherDelegate: AnyObject, Sendable {
    /// The list has changed; ``MXRoomListDataFetcher/data`` may be newer still.
    ///
    /// - Parameter totalCountsChanged: Whether there are more or fewer rooms in all, those of pages that are not loaded
    ///   included. Always true without pages.
    func fetcherDidChangeData(_ fetcher: MXRoomListDataFetcher, totalCountsChanged: Bool)
}

/// A list of a session's rooms: filtered, in order, page by page, and kept up to date from its first page on. Made by
/// ``MXRoomListDataManager/fetcher(withOptions:)``.
///
/// It ends when it is stopped or let go of. May be used from any thread.
public final class MXRoomListDataFetcher: Sendable {
    private struct State: Sendable {
        var data: MXRoomListData?
        var delegates: [WeakDelegate] = []
        var observer: UUID?
        /// Whether the list is to be made anew already.
        var isDue = false
        var isStopped = false
    }

    private struct WeakDelegate: Sendable {
        let id: ObjectIdentifier
        weak var delegate: (any MXRoomListDataFetcherDelegate)?
    }

    /// What is listed, in which order. A change of filter or order is carried out at once.
    public let fetchOptions: MXRoomListDataFetchOptions
    private weak let session: MXSession?
    /// Lists are made here, one at a time; no code of the application runs on it.
    private let queue = DispatchQueue(label: "matrix.room-list")
    private let state = Lock(State())

    init(_ options: MXRoomListDataFetchOptions, of session: MXSession?) {
        (fetchOptions, self.session) = (options, session)
        options.serve(self)
        let id = session?.observeRoomList { [weak self] in self?.roomsChanged() }
        state.withLock { $0.observer = id }
    }

    deinit {
        if let id = state.withLock({ $0.observer }) { session?.stopObserving(id) }
    }

    /// What is loaded; nil before the first page, and after ``stop()``.
    public var data: MXRoomListData? { state.withLock { $0.data } }

    // MARK: Delegates

    /// From now on `delegate` is told of changes. Held weakly: keep a reference to it. One that is gone gets a warning in the
    /// session's log.
    public func addDelegate(_ delegate: any MXRoomListDataFetcherDelegate) {
        state.withLock { state in
            let id = ObjectIdentifier(delegate)
            // One of the same identity that is here already may be gone, and this one in its place.
            state.delegates.removeAll { $0.id == id }
            if !state.isStopped { state.delegates.append(WeakDelegate(id: id, delegate: delegate)) }
        }
        DispatchQueue.main.async { [weak self] in _ = self?.livingDelegates() }
    }

    /// `delegate` is told nothing more.
    public func removeDelegate(_ delegate: any MXRoomListDataFetcherDelegate) {
        state.withLock { $0.delegates.removeAll { $0.id == ObjectIdentifier(delegate) } }
    }

    /// Nobody is told anything more.
    public func removeAllDelegates() { state.withLock { $0.delegates = [] } }

    private func livingDelegates() -> [any MXRoomListDataFetcherDelegate] {
        let (living, goneCount) = state.withLock { state in
            let living = state.delegates.compactMap(\.delegate)  // released after the lock
            let goneCount = state.delegates.count - living.count
            let ids = Set(living.map { ObjectIdentifier($0) })
            state.delegates.removeAll { !ids.contains($0.id) }
            return (living, goneCount)
        }
        if goneCount > 0 { session?.warnOfGoneDelegate() }
        return living
    }

    // MARK: Loading

    /// Loads the first page, or one more. Has happened on return, unless ``MXRoomListDataFetchOptions/async`` is set.
    public func paginate() {
        run { fetcher in
            guard let data = fetcher.data else { return fetcher.load(pages: 1) }
            if data.hasMoreRooms { fetcher.load(pages: data.currentPage + 2) }
        }
    }

    /// Goes back to the first page.
    public func resetPagination() { run { $0.load(pages: 1) } }

    /// Makes the list anew with as many pages as are loaded, the first one at least.
    public func refresh() { run { $0.reload() } }

    /// Ends the list for good: it holds nothing, and tells nobody.
    public func stop() {
        let observer = state.withLock { state in
            defer { state = State(isStopped: true) }
            return state.observer
        }
        if let observer { session?.stopObserving(observer) }
    }

    /// Filter or order are others. A list that has not been begun stays so.
    func optionsChanged() {
        if data != nil { refresh() }
    }

    /// Many changes that come together cost one new list.
    private func roomsChanged() {
        let mustStart = state.withLock { state in
            guard state.data != nil, !state.isDue else { return false }
            state.isDue = true
            return true
        }
        guard mustStart else { return }
        queue.async { [weak self] in
            guard let self else { return }
            state.withLock { $0.isDue = false }
            reload()
        }
    }

    private func run(_ job: @escaping @Sendable (MXRoomListDataFetcher) -> Void) {
        if fetchOptions.async {
            queue.async { [weak self] in self.map(job) }
        } else {
            queue.sync { job(self) }
        }
    }

    // MARK: On the queue

    private func reload() { load(pages: (data?.currentPage ?? 0) + 1) }

    private func load(pages: Int) {
        let query = RoomListQuery(filter: fetchOptions.filterOptions, sort: fetchOptions.sortOptions)
        let rooms = query.run(on: session?.listedRooms ?? [])
        let new = MXRoomListData(rooms, pages: pages, paginationOptions: fetchOptions.paginationOptions)
        let old = state.withLock { state -> MXRoomListData?? in
            guard !state.isStopped, state.data != new else { return nil }
            defer { state.data = new }
            return .some(state.data)
        }
        guard let old else { return }
        let isTotalNew =
            fetchOptions.paginationOptions == .none
            || old?.counts.total?.numberOfRooms != new.counts.total?.numberOfRooms
        DispatchQueue.main.async { [weak self] in
            MainActor.assumeIsolated {
                guard let self else { return }
                for delegate in self.livingDelegates() {
                    delegate.fetcherDidChangeData(self, totalCountsChanged: isTotalNew)
                }
            }
        }
    }
}
