import MatrixProtocol
import MatrixSDK

/// Data about events from the store and the room's relations, read before they reach the main actor.
struct RoomReading: Sendable {
    /// The current version of an event, with its reactions and thread.
    struct Related: Sendable {
        let event: MXEvent
        let aggregations: MXEventAggregations?
        /// The thread that the event started.
        let thread: MXThreadSummary?

        /// - Parameter answers: Stored messages of the thread that the event started, if any.
        init(_ event: MXEvent, answers: [MXEvent], in room: MXRoom) {
            self.event = room.edited(event)
            aggregations = room.aggregations(forEvent: event.eventId)
            thread = MXThreadSummary(of: event, stored: answers)
        }
    }

    private(set) var related: [String: Related] = [:]
    /// The receipts; `nil` if they were not requested.
    private(set) var receipts: [MXReceipt]?

    init() {}

    init(of events: [MXEvent], receipts wantsReceipts: Bool, in room: MXRoom?) {
        guard let room else { return }
        var events = events
        let known = Set(events.map(\.eventId))
        for root in Set(events.compactMap(\.threadId)).subtracting(known) {
            if let root = room.storedEvent(root) { events.append(root) }
        }
        let relations = room.storedRelations(toEach: events.map(\.eventId))
        for event in events {
            let answers = (relations[event.eventId] ?? []).filter { $0.threadId == event.eventId }
            related[event.eventId] = Related(event, answers: answers, in: room)
        }
        if wantsReceipts { receipts = try? room.receipts() }
    }

    /// Runs off the main actor.
    @concurrent
    static func read(_ events: [MXEvent], receipts: Bool, in room: MXRoom?) async -> RoomReading {
        RoomReading(of: events, receipts: receipts, in: room)
    }

    /// Reads the data needed to handle the reports.
    init(for reports: [SessionReport], of roomId: String, in room: MXRoom?) {
        var (events, wantsReceipts) = ([MXEvent](), false)
        for case .notices(let notices) in reports {
            for notice in notices where notice.concernedRoom == roomId {
                switch notice {
                case .live(let live):
                    events.append(live.event)
                    wantsReceipts = true
                case .changed(let event): events.append(event)
                case .decrypted(_, let decrypted): events += decrypted.map(\.event)
                case .ephemeral(let event): if event.type == "m.receipt" { wantsReceipts = true }
                case .roomAccountData, .relationsChanged, .gap, .joined, .encryption, .echoConfirmed, .invited,
                    .knocked, .left, .accountData, .presence, .toDevice, .unreadChanged, .summaryChanged,
                    .directRoomsChanged, .ignoredUsersChanged:
                    break
                }
            }
        }
        self.init(of: events, receipts: wantsReceipts, in: room)
    }
}
