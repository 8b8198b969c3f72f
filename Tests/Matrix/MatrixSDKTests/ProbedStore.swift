import Basics
import MatrixSDK

/// A memory store that calls back before each operation: to be slow, to fail, or to read the session.
final class ProbedStore: MXStore {
    enum Call: String, CaseIterable {
        case open, commit, state, stateEvent, events, event, knownEvents, relations, receipts, trimTimeline, close
    }

    private let store = MXMemoryStore()
    private let probe = Lock<(@Sendable (Call) throws -> Void)?>(nil)

    func setProbe(_ probe: (@Sendable (Call) throws -> Void)?) {
        _ = self.probe.withLock { old in
            defer { old = probe }
            return old
        }
    }

    /// Simulates a full disk.
    func setFull(_ isFull: Bool) {
        guard isFull else { return setProbe(nil) }
        setProbe { if $0 == .commit { throw MatrixError(.store, "the disk is full") } }
    }

    private func called(_ call: Call) throws(MatrixError) {
        do {
            try probe.withLock({ $0 })?(call)
        } catch {
            throw error as? MatrixError ?? MatrixError(.store, "\(error)")
        }
    }

    var isPermanent: Bool { false }

    func open(userId: String, deviceId: String?) throws(MatrixError) -> MXStoredSession {
        try called(.open)
        return try store.open(userId: userId, deviceId: deviceId)
    }

    func commit(_ changes: MXStoreChanges) throws(MatrixError) {
        try called(.commit)
        try store.commit(changes)
    }

    func state(of roomId: String) throws(MatrixError) -> [MXEvent] {
        try called(.state)
        return try store.state(of: roomId)
    }

    func stateEvent(of roomId: String, type: String, key: String) throws(MatrixError) -> MXEvent? {
        try called(.stateEvent)
        return try store.stateEvent(of: roomId, type: type, key: key)
    }

    func events(in roomId: String, before eventId: String?, limit: Int) throws(MatrixError) -> [MXEvent] {
        try called(.events)
        return try store.events(in: roomId, before: eventId, limit: limit)
    }

    func event(_ eventId: String, in roomId: String) throws(MatrixError) -> MXEvent? {
        try called(.event)
        return try store.event(eventId, in: roomId)
    }

    func knownEvents(among eventIds: [String], in roomId: String) throws(MatrixError) -> [String] {
        try called(.knownEvents)
        return try store.knownEvents(among: eventIds, in: roomId)
    }

    func relations(to eventId: String, in roomId: String) throws(MatrixError) -> [MXEvent] {
        try called(.relations)
        return try store.relations(to: eventId, in: roomId)
    }

    func receipts(in roomId: String) throws(MatrixError) -> [MXReceipt] {
        try called(.receipts)
        return try store.receipts(in: roomId)
    }

    func trimTimeline(of roomId: String) throws(MatrixError) -> String? {
        try called(.trimTimeline)
        return try store.trimTimeline(of: roomId)
    }

    func close() {
        try? called(.close)
        store.close()
    }

    func deleteAllData() throws(MatrixError) { try store.deleteAllData() }
}
