import Foundation
public import MatrixSDK

/// The public rooms of the user's own homeserver or of another one.
@MainActor
open class MXKPublicRoomsDataSource: MXKDataSource {
    /// The homeserver whose rooms are shown; `nil` is the user's own. A change takes effect after ``searchDelay``.
    public var server: String? { didSet { if server != oldValue { changed() } } }
    /// The search term; `nil` or empty matches every room. A change takes effect after ``searchDelay``.
    public var searchPattern: String? { didSet { if searchPattern != oldValue { changed() } } }
    /// The delay between the last change and the request. The default is 0.3 s.
    public var searchDelay = Duration.milliseconds(300)
    /// The error of loading the first page; `nil` on success.
    public private(set) var error: (any Error)?

    private static let pageSize: UInt = 30

    private var rooms: [MXPublicRoom] = []
    private var ids: Set<String> = []
    private var nextBatch: String?
    private var isAtEnd = false
    private var generation = 0
    private var waiting: Task<Void, Never>?
    private var pages: [UUID: Task<Int, any Error>] = [:]
    private let turns = PageTurns()

    /// Creates an empty data source: ``paginate()`` loads the first rooms.
    public override init(matrixSession mxSession: MXSession?) {
        super.init(matrixSession: mxSession)
        finalizeInitialization()
    }

    open override func didMXSessionStateChange() {
        guard !isDestroyed else { return }
        if mxSession == nil || mxSession?.state == .closed { return setState(.failed) }
        if state == .preparing, waiting == nil { setState(.ready) }
    }

    open override func cancelAllRequests() {
        waiting?.cancel()
        waiting = nil
        for page in pages.values { page.cancel() }
    }

    open override func destroy() {
        generation += 1
        super.destroy()
    }

    private func changed() {
        guard !isDestroyed else { return }
        generation += 1
        cancelAllRequests()
        waiting = Task { [weak self, searchDelay] in
            guard (try? await Task.sleep(for: searchDelay)) != nil, let self else { return }
            await self.begin()
        }
    }

    private func begin() async {
        (rooms, ids, nextBatch, isAtEnd, error) = ([], [], nil, false, nil)
        setState(.preparing)
        tell(nil)
        let current = generation
        do {
            _ = try await paginate()
            guard generation == current else { return }
            waiting = nil
            setState(.ready)
        } catch {
            guard generation == current else { return }
            waiting = nil
            self.error = error
            NotificationCenter.default.postMXKError(error, userId: mxSession?.myUserId)
            setState(.failed)
        }
    }

    /// Whether there may be more rooms.
    public var canPaginate: Bool { !isAtEnd && !isDestroyed && mxSession != nil }

    /// Loads the next page. Calls wait for each other.
    ///
    /// - Returns: The number of new rooms.
    /// - Throws: `CancellationError` if the search has changed in the meantime.
    open func paginate() async throws -> Int {
        let (id, current) = (UUID(), generation)
        let page = Task { [turns] in
            try await turns.run { [weak self] in
                guard let self, self.generation == current else { throw CancellationError() }
                return try await self.nextPage()
            }
        }
        pages[id] = page
        defer { pages[id] = nil }
        return try await withTaskCancellationHandler {
            try await page.value
        } onCancel: {
            page.cancel()
        }
    }

    private func nextPage() async throws -> Int {
        guard canPaginate, let client = mxSession?.matrixRestClient else { return 0 }
        let (current, pattern) = (generation, searchPattern.flatMap { $0.isEmpty ? nil : $0 })
        let page = try await client.publicRooms(
            onServer: server, limit: Self.pageSize, since: nextBatch, filter: pattern)
        try Task.checkCancellation()
        guard generation == current else { throw CancellationError() }
        // Stop if the homeserver returns the same page again, or paging would never end.
        isAtEnd = page.nextBatch == nil || page.nextBatch == nextBatch
        nextBatch = page.nextBatch
        let first = rooms.count
        for room in page.chunk where ids.insert(room.roomId).inserted { rooms.append(room) }
        tell(MXKCellChanges(inserted: IndexSet(integersIn: first..<rooms.count)))
        return rooms.count - first
    }

    /// The number of loaded rooms.
    public var roomsCount: Int { rooms.count }

    /// Returns the room at an index; `nil` if out of range.
    open func room(at index: Int) -> MXPublicRoom? { rooms.indices.contains(index) ? rooms[index] : nil }
}
