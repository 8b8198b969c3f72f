import Foundation
import MatrixProtocol
public import MatrixSDK

/// Searches messages: the homeserver those that it can read, and the store those of encrypted rooms. The newest is the first cell.
///
/// The two are merged by time, page by page: what is shown does not move when older messages come.
@MainActor
open class MXKSearchDataSource: MXKDataSource {
    /// What is searched for; nil before the first search.
    public private(set) var searchText: String?
    /// Only these rooms are searched; nil is all. For the next search. (In place of the kit's `roomEventFilter`.)
    public var rooms: [String]?
    /// How many messages the homeserver has found, about.
    public private(set) var serverCount: UInt = 0
    /// Words to mark in what was found.
    public private(set) var highlights: [String] = []
    /// Why the homeserver has not searched; what is stored was searched all the same.
    public private(set) var serverError: (any Error)?
    /// Puts messages into words.
    public var eventFormatter: MXKEventFormatter?
    /// Whether cells name their rooms. Usually true. For cells that are made from then on.
    public var shouldShowRoomDisplayName = true

    private static let pageSize = 20

    private var cells: [any MXKSearchCellDataStoring] = []
    private var shown: Set<String> = []
    /// Found in the store and not shown yet, newest first.
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

    /// Searches anew. The delegate is told when the first page is there.
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

    /// Shows older messages, if there are and none are on their way.
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

    /// Whether there are messages that are not shown yet.
    public var canPaginate: Bool { nextBatch != nil || !local.isEmpty }

    /// As ``searchMessages(_:force:)``, and waits for the first page. An error of the homeserver's is ``serverError``.
    public func search(_ textPattern: String, force: Bool = false) async {
        searchMessages(textPattern, force: force)
        await task?.value
    }

    /// As ``paginateBack()``, and waits for the page.
    ///
    /// - Returns: How many cells it has.
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
            // The same page can be asked for again.
            serverError = error
            NotificationCenter.default.postMXKError(error, userId: session.myUserId)
        }
        show(results)
        setState(.ready)
    }

    /// Shows a page of the homeserver's with those messages of the store that are not older than it: the homeserver's next page
    /// begins there. What is left of the store's comes when the homeserver has no more.
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

    /// How many messages are shown.
    public var numberOfCells: Int { cells.count }

    /// The message at an index, from the newest; nil beyond the ends.
    open func cellData(at index: Int) -> MXKCellData? { cells.indices.contains(index) ? cells[index] : nil }
}
