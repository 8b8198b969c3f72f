import Basics
import MatrixProtocol
import MatrixSDK

/// The library's memory store, made to outlive processes: it is reopened with its committed contents.
final class RoomsDisk: MXStore {
    private let store = MXMemoryStore(eventsPerRoom: 8)
    private let stored = Lock(MXStoredSession())

    var isPermanent: Bool { true }

    init() throws(MatrixError) {
        _ = try store.open(userId: RoomsServer.me, deviceId: nil)
    }

    func open(userId: String, deviceId: String?) -> MXStoredSession { stored.withLock { $0 } }

    func commit(_ changes: MXStoreChanges) throws(MatrixError) {
        try store.commit(changes)
        stored.withLock { stored in
            if changes.replacesEverything {
                let kept = stored.toDevice
                stored = MXStoredSession()
                stored.toDevice = kept
            }
            for (id, room) in changes.rooms {
                if room.isRemoved {
                    stored.summaries.removeAll { $0.roomId == id }
                    stored.outgoing.removeAll { $0.roomId == id }
                }
                if let summary = room.summary {
                    stored.summaries.removeAll { $0.roomId == id }
                    stored.summaries.append(summary)
                }
            }
            for event in changes.outgoing {
                if let index = stored.outgoing.firstIndex(where: { $0.transactionId == event.transactionId }) {
                    stored.outgoing[index] = event
                } else {
                    stored.outgoing.append(event)
                }
            }
            stored.toDevice += changes.toDevice.filter { new in !stored.toDevice.contains { $0.id == new.id } }
            stored.toDevice.removeAll { changes.toldToDevice.contains($0.id) }
            stored.outgoing.removeAll { changes.sentOutgoing.contains($0.transactionId) }
            stored.syncToken = changes.syncToken ?? stored.syncToken
        }
    }

    func state(of roomId: String) throws(MatrixError) -> [MXEvent] { try store.state(of: roomId) }

    func events(in roomId: String, before eventId: String?, limit: Int) throws(MatrixError) -> [MXEvent] {
        try store.events(in: roomId, before: eventId, limit: limit)
    }

    func event(_ eventId: String, in roomId: String) throws(MatrixError) -> MXEvent? {
        try store.event(eventId, in: roomId)
    }

    func knownEvents(among eventIds: [String], in roomId: String) throws(MatrixError) -> [String] {
        try store.knownEvents(among: eventIds, in: roomId)
    }

    func relations(to eventId: String, in roomId: String) throws(MatrixError) -> [MXEvent] {
        try store.relations(to: eventId, in: roomId)
    }

    func receipts(in roomId: String) throws(MatrixError) -> [MXReceipt] { try store.receipts(in: roomId) }

    func trimTimeline(of roomId: String) throws(MatrixError) -> String? {
        guard let token = try store.trimTimeline(of: roomId) else { return nil }
        stored.withLock { stored in
            guard let index = stored.summaries.firstIndex(where: { $0.roomId == roomId }) else { return }
            stored.summaries[index].paginationToken = token
        }
        return token
    }

    func close() {}
    func deleteAllData() {}
}
