import Basics
import Dispatch
import MatrixSDK

/// Receives changes of a list of rooms, on the main thread.
@MainActor
public protocol MXRoomListDataFetcherDelegate: AnyObject, Sendable {
    /// Called when the list has changed; ``MXRoomListDataFetcher/data`` may be newer still.
    ///
    /// - Parameter totalCountsChanged: Whether the total number of rooms has changed, including pages that are not
    ///   loaded. Always true without pages.
    func fetcherDidChangeData(_ fetcher: MXRoomListDataFetcher, totalCountsChanged: Bool)
}

/// A list of a session's rooms: filtered, sorted, paginated, and kept up to date once its first page is loaded. Create
/// it with ``MXRoomListDataManager/fetcher(withOptions:)``.
///
/// It ends when it is stopped or released. It may be used from any thread.
public final class MXRoomListDataFetcher: Sendable {
    private struct State: Sendable {
        var data: MXRoomListData?
        var delegates: [WeakDelegate] = []
        var observer: UUID?
        /// Whether the list is already scheduled to be recreated.
        var isDue = false
        var isStopped = false
    }

    private struct WeakDelegate: Sendable {
        let id: ObjectIdentifier
        weak var delegate: (any MXRoomListDataFetcherDelegate)?
    }

    /// The filter and order of the list. Changes take effect at once.
    public let fetchOptions: MXRoomListDataFetchOptions
    private weak let session: MXSession?
    /// The queue on which lists are created, one at a time. No application code runs on it.
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

    /// The loaded rooms; `nil` before the first page, and after ``stop()``.
    public var data: MXRoomListData? { state.withLock { $0.data } }

    // MARK: Delegates

    /// Adds a delegate to notify of changes. Held weakly: keep a reference to it. If it is gone, the session logs a
    /// warning.
    public func addDelegate(_ delegate: any MXRoomListDataFetcherDelegate) {
        state.withLock { state in
            let id = ObjectIdentifier(delegate)
            // An existing entry with the same identity may belong to a delegate that is gone.
            state.delegates.removeAll { $0.id == id }
            if !state.isStopped { state.delegates.append(WeakDelegate(id: id, delegate: delegate)) }
        }
        DispatchQueue.main.async { [weak self] in _ = self?.livingDelegates() }
    }

    /// Removes a delegate.
    public func removeDelegate(_ delegate: any MXRoomListDataFetcherDelegate) {
        state.withLock { $0.delegates.removeAll { $0.id == ObjectIdentifier(delegate) } }
    }

    /// Removes all delegates.
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

    /// Loads the first page, or the next one. It is loaded on return, unless ``MXRoomListDataFetchOptions/async`` is
    /// set.
    public func paginate() {
        run { fetcher in
            guard let data = fetcher.data else { return fetcher.load(pages: 1) }
            if data.hasMoreRooms { fetcher.load(pages: data.currentPage + 2) }
        }
    }

    /// Goes back to the first page.
    public func resetPagination() { run { $0.load(pages: 1) } }

    /// Recreates the list with the pages loaded so far, at least one.
    public func refresh() { run { $0.reload() } }

    /// Ends the list permanently: it is empty, and notifies no delegate.
    public func stop() {
        let observer = state.withLock { state in
            defer { state = State(isStopped: true) }
            return state.observer
        }
        if let observer { session?.stopObserving(observer) }
    }

    /// Called when the filter or order has changed. A list without a first page stays empty.
    func optionsChanged() {
        if data != nil { refresh() }
    }

    /// Combines changes that arrive together into one new list.
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
