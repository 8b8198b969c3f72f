import MatrixSDK
import Transport

/// A store in memory whose disk can be full.
final class FlakyStore: MXStore {
    private let store = MXMemoryStore()
    private let isFull = Lock(false)

    func setFull(_ isFull: Bool) { self.isFull.withLock { $0 = isFull } }

    var isPermanent: Bool { false }

    func open(userId: String, deviceId: String?) throws(MatrixError) -> MXStoredSession {
        try store.open(userId: userId, deviceId: deviceId)
    }

    func commit(_ changes: MXStoreChanges) throws(MatrixError) {
        guard !isFull.withLock({ $0 }) else { throw MatrixError(.store, "the disk is full") }
        try store.commit(changes)
    }

    func state(of roomId: String) throws(MatrixError) -> [MXEvent] { try store.state(of: roomId) }

    func events(in roomId: String, before eventId: String?, limit: Int) throws(MatrixError) -> [MXEvent] {
        try store.events(in: roomId, before: eventId, limit: limit)
    }

    func event(_ eventId: String, in roomId: String) throws(MatrixError) -> MXEvent? {
        try store.event(eventId, in: roomId)
    }

    func knownEvents(among eventIds: [String], in roomId: String) throws(MatrixError) -> Set<String> {
        try store.knownEvents(among: eventIds, in: roomId)
    }

    func relations(to eventId: String, in roomId: String) throws(MatrixError) -> [MXEvent] {
        try store.relations(to: eventId, in: roomId)
    }

    func receipts(in roomId: String) throws(MatrixError) -> [MXReceipt] { try store.receipts(in: roomId) }
    func trimTimeline(of roomId: String) throws(MatrixError) -> String? { try store.trimTimeline(of: roomId) }
    func close() { store.close() }
    func deleteAllData() throws(MatrixError) { try store.deleteAllData() }
}
