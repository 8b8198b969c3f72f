import Foundation
import MatrixProtocol
public import MatrixSDK

/// Searches messages: the homeserver searches those that it can read, and the store those of encrypted rooms. The
/// newest message is the first cell.
///
/// Both results are merged by time, page by page. Shown messages do not move when older ones arrive.
@MainActor
open class MXKSearchDataSource: MXKDataSource {
    /// The search text; `nil` before the first search.
    public private(set) var searchText: String?
    /// The rooms to search, from the next search on; `nil` searches all. (Replaces `roomEventFilter` of the iOS kit.)
    public var rooms: [String]?
    /// The approximate number of messages found by the homeserver.
    public private(set) var serverCount: UInt = 0
    /// The words to highlight in the results.
    public private(set) var highlights: [String] = []
    /// The reason why the homeserver's search failed. The store was still searched.
    public private(set) var serverError: (any Error)?
    /// The formatter for messages.
    public var eventFormatter: MXKEventFormatter?
    /// Whether new cells show the names of their rooms. The default is true.
    public var shouldShowRoomDisplayName = true

    private static let pageSize = 20

    private var cells: [any MXKSearchCellDataStoring] = []
    private var shown: Set<String> = []
    /// Results from the store that are not shown yet, newest first.
    private var local: ArraySlice<MXSearchResults.Result> = []
    private var nextBatch: String?
    private var task: Task<Void, Never>?
    private var fallbackFormatter: MXKEventFormatter?

    public override init(matrixSession mxSession: MXSession?) {
        super.init(matrixSession: mxSession)
        registerCellDataClass(MXKSearchCellData.self, forCellIdentifier: kMXKSearchCellDataIdentifier)
        finalizeInitialization()
    }

    var formatter: MXKEventFormatter {
        if let eventFormatter { return eventFormatter }
        if let fallbackFormatter { return fallbackFormatter }
        let formatter = MXKEventFormatter(matrixSession: mxSession)
        fallbackFormatter = formatter
        return formatter
    }

    open override func didMXSessionStateChange() {
        guard !isDestroyed else { return }
        if mxSession == nil || mxSession?.state == .closed { return setState(.failed) }
        if state == .preparing, task == nil { setState(.ready) }
    }

    open override func cancelAllRequests() {
        task?.cancel()
        task = nil
    }

    open override func destroy() {
        super.destroy()
        forget()
    }

    private func forget() {
        (cells, shown, local, nextBatch, serverCount, highlights, serverError) = ([], [], [], nil, 0, [], nil)
    }

    // MARK: Searching

    /// Starts a search. The delegate is notified when the first page is available.
    ///
    /// - Parameter force: Whether to search for the same text again.
    open func searchMessages(_ textPattern: String, force: Bool) {
        guard !isDestroyed, let session = mxSession, force || textPattern != searchText else { return }
        cancelAllRequests()
        forget()
        searchText = textPattern
        tell(nil)
        guard !textPattern.isEmpty else { return setState(.ready) }
        setState(.preparing)
        let rooms = rooms
        start {
            async let stored = LocalSearch.results(for: textPattern, in: session, rooms: rooms)
            let page = await Self.page(session, textPattern, rooms, since: nil)
            let found = (try? await stored) ?? []
            guard !Task.isCancelled else { return }
            $0.local = found[...]
            $0.show(page, of: session)
        }
    }

    /// Shows older messages, if there are any and no page is pending.
    open func paginateBack() {
        guard canPaginate, task == nil, let session = mxSession, let text = searchText else { return }
        let (rooms, batch) = (rooms, nextBatch)
        guard batch != nil else { return show([]) }
        start {
            let page = await Self.page(session, text, rooms, since: batch)
            guard !Task.isCancelled else { return }
            $0.show(page, of: session)
        }
    }

    /// Whether there are more messages to show.
    public var canPaginate: Bool { nextBatch != nil || !local.isEmpty }

    /// Like ``searchMessages(_:force:)``, but waits for the first page. ``serverError`` holds an error of the
    /// homeserver.
    public func search(_ textPattern: String, force: Bool = false) async {
        searchMessages(textPattern, force: force)
        await task?.value
    }

    /// Like ``paginateBack()``, but waits for the page.
    ///
    /// - Returns: The number of cells in the page.
    public func paginate() async -> Int {
        let before = cells.count
        paginateBack()
        await task?.value
        return max(0, cells.count - before)
    }

    private func start(_ work: @escaping @MainActor (MXKSearchDataSource) async -> Void) {
        task = Task { [weak self] in
            guard let self else { return }
            await work(self)
        }
    }

    private static func page(
        _ session: MXSession, _ text: String, _ rooms: [String]?, since batch: String?
    ) async -> Result<MXSearchResults, any Error> {
        do {
            return .success(
                try await session.matrixRestClient.searchMessages(
                    text, inRooms: rooms, limit: pageSize, nextBatch: batch))
        } catch {
            return .failure(error)
        }
    }

    private func show(_ page: Result<MXSearchResults, any Error>, of session: MXSession) {
        guard !isDestroyed else { return }
        task = nil
        var results: [MXSearchResults.Result] = []
        switch page {
        case .success(let page):
            results = page.results
            nextBatch = page.nextBatch
            serverCount = UInt(max(page.count, 0))
            highlights = page.highlights
            serverError = nil
        case .failure(let error):
            // The page can be requested again.
            serverError = error
            NotificationCenter.default.postMXKError(error, userId: session.myUserId)
        }
        show(results)
        setState(.ready)
    }

    /// Shows a page from the homeserver with the stored messages that are no older than it, because the homeserver's
    /// next page starts there. The remaining stored messages follow when the homeserver has no more.
    private func show(_ page: [MXSearchResults.Result]) {
        var stored = local.prefix(page.isEmpty && nextBatch == nil ? Self.pageSize : 0)
        if let oldest = page.map(\.event.originServerTs).min() {
            stored = local.prefix { $0.event.originServerTs >= oldest }
        }
        local = local.dropFirst(stored.count)
        add((page + stored).sorted { $0.event.originServerTs > $1.event.originServerTs })
    }

    private func add(_ results: [MXSearchResults.Result]) {
        let type = registeredClass(kMXKSearchCellDataIdentifier, as: (any MXKSearchCellDataStoring.Type).self)
        let first = cells.count
        for result in results where shown.insert(result.event.eventId).inserted {
            cells.append(type.init(searchResult: result, searchDataSource: self))
        }
        tell(MXKCellChanges(inserted: IndexSet(integersIn: first..<cells.count)))
    }

    // MARK: Cells

    /// The number of messages shown.
    public var numberOfCells: Int { cells.count }

    /// Returns the message at an index, newest first; `nil` if out of range.
    open func cellData(at index: Int) -> MXKCellData? { cells.indices.contains(index) ? cells[index] : nil }
}
