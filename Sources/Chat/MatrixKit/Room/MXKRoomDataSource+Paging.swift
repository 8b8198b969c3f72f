import Foundation
public import MatrixProtocol
import MatrixSDK

/// Pages to older events, and around an event also to newer ones.
extension MXKRoomDataSource {
    private static var maximumEmptyPages: Int { 10 }
    private static var maximumFillingPages: Int { 20 }

    /// Loads events in one direction. Pages load one at a time: a second call waits for the first.
    ///
    /// - Parameters:
    ///   - numItems: The number of events to request.
    ///   - onlyFromStore: Whether to read only the store and never ask the homeserver.
    /// - Returns: The number of new bubbles. It can be zero even though there is more to load.
    /// - Throws: The homeserver's error. Events loaded before it are kept.
    @discardableResult
    public func paginate(_ numItems: UInt, direction: MXTimelineDirection, onlyFromStore: Bool = false) async throws
        -> UInt
    {
        try await pages.run {
            var added: UInt = 0
            for _ in 0..<Self.maximumEmptyPages {
                let (cells, events) = try await self.page(numItems, direction, onlyFromStore: onlyFromStore)
                added += cells
                guard added == 0, events > 0, !onlyFromStore else { break }
            }
            return added
        }
    }

    /// Loads events, first from the store, until a screen of this size is full, there are no more, or an error occurs.
    ///
    /// - Parameter minRequestMessagesCount: The minimum number of events to request.
    public func paginateToFill(
        rows: Int, columns: Int, direction: MXTimelineDirection, minRequestMessagesCount: UInt = 10
    ) async throws {
        var onlyFromStore = isLive
        for _ in 0..<Self.maximumFillingPages {
            let (filled, cells) = filled(rows: rows, columns: columns)
            guard filled < rows, canPaginate(direction), !isDestroyed else { return }
            let average = cells > 0 ? max(Double(filled) / Double(cells), 1) : 2
            let wanted = UInt((Double(rows - filled) / average * 1.5).rounded(.up))
            let added = try await paginate(
                max(wanted, minRequestMessagesCount), direction: direction, onlyFromStore: onlyFromStore)
            if added == 0 {
                guard onlyFromStore else { return }
                onlyFromStore = false
            }
        }
    }

    /// Returns the rows of the newest bubbles, counted only as far as needed, and the number of those bubbles.
    private func filled(rows: Int, columns: Int) -> (rows: Int, cells: Int) {
        var (filled, cells) = (0, 0)
        for index in stride(from: list.count - 1, through: 0, by: -1) where filled < rows {
            filled += max(Int(cellHeight(at: index, withMaximumWidth: CGFloat(columns))), 1)
            cells += 1
        }
        return (filled, cells)
    }

    private func page(
        _ count: UInt, _ direction: MXTimelineDirection, onlyFromStore: Bool
    ) async throws -> (cells: UInt, events: Int) {
        guard canPaginate(direction), !isDestroyed else { return (0, 0) }
        let current = generation
        var steps: [MXEventTimeline.Step]
        var stored: [MXEvent]?
        if let thread {
            if onlyFromStore { return (0, 0) }
            if thread.isAtNewest { stored = list.cells.flatMap { ($0 as? MXKRoomBubbleCellData)?.events ?? [] } }
            let state = roomState
            steps = try await thread.paginate(count).map { ($0, state) }
        } else if isLive {
            guard let timeline else { return (0, 0) }
            // Load stored events even if the server cannot be reached.
            steps = try await timeline.queuedSteps(count, .backwards, onlyFromStore: true)()
            if steps.isEmpty, !onlyFromStore {
                steps = try await timeline.queuedSteps(count, .backwards, onlyFromStore: false)()
            }
        } else {
            guard let context else { return (0, 0) }
            let state = roomState
            steps = try await context.paginate(count, direction: direction).map { ($0, state) }
        }
        // The timeline was restarted or destroyed in the meantime: discard this page.
        guard generation == current, !isDestroyed else { return (0, 0) }
        if hidesBeforeJoining, let end = steps.firstIndex(where: { isBeforeOwnJoin($0.event) }) {
            steps = Array(steps[..<end])
        }
        let reading = await RoomReading.read(steps.map(\.event), receipts: true, in: room)
        guard generation == current, !isDestroyed else { return (0, 0) }
        if stored != nil { clearEvents() }
        let before = list.count
        with(reading) { for (event, state) in steps { add(event, state: state, isOlder: direction == .backwards) } }
        if let stored { addNewer(stored, than: steps.first?.event) }
        if readMarkerEventId == nil { readReadMarker() }
        placeReceipts()
        report()
        return (UInt(max(list.count - before, 0)), steps.count)
    }

    /// Replaces the stored events of a thread, which may have gaps, with the homeserver's first page. Events that have
    /// arrived since the request stay.
    private func addNewer(_ events: [MXEvent], than newest: MXEvent?) {
        let current = events.map { event(withEventId: $0.eventId) ?? $0 }
        for event in current where !event.isLocalEvent && event.originServerTs >= newest?.originServerTs ?? 0 {
            add(event, state: roomState, isOlder: false)
        }
        addEchoes()
    }

    private var hidesBeforeJoining: Bool { formatter.settings.hidePreJoinedUndecryptableEvents }

    private func isBeforeOwnJoin(_ event: MXEvent) -> Bool {
        guard event.isEncrypted, let me = mxSession?.credentials?.userId,
            let join = roomState?.members.member(withUserId: me)?.originalEvent
        else { return false }
        return event.originServerTs < join.originServerTs
    }

    /// Starts work and calls one of two closures at its end, on the main actor.
    func start<Value: Sendable>(
        _ success: ((Value) -> Void)?, _ failure: (((any Error)?) -> Void)?,
        _ work: @escaping @MainActor (MXKRoomDataSource) async throws -> Value
    ) {
        let succeeded = MainCallback<Value> { success?($0) }
        let failed = MainCallback<(any Error)?> { failure?($0) }
        Task {
            do {
                succeeded(try await work(self))
            } catch {
                failed(error)
            }
        }
    }
}
