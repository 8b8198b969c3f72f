import Basics
import MatrixProtocol

/// A store that outlives processes. It keeps as much of the timelines as the model requests.
final class MatrixDisk: MXStore {
    private struct Content: Sendable {
        var session = MXStoredSession()
        var timelines: [String: [MXEvent]] = [:]
        var fails = false
    }

    private let content = Lock(Content())

    var isPermanent: Bool { true }

    var token: String? { content.withLock { $0.session.syncToken } }

    func setFails(_ fails: Bool) { content.withLock { $0.fails = fails } }

    func open(userId: String, deviceId: String?) -> MXStoredSession { content.withLock { $0.session } }

    func commit(_ changes: MXStoreChanges) throws(MatrixError) {
        let fails = content.withLock { content in
            guard !content.fails else { return true }
            if changes.replacesEverything { (content.session, content.timelines) = (MXStoredSession(), [:]) }
            for (id, room) in changes.rooms {
                if room.isRemoved || room.dropsTimeline { content.timelines[id] = nil }
                let known = Set((content.timelines[id] ?? []).map(\.eventId))
                content.timelines[id, default: []] += room.timeline.filter { !known.contains($0.eventId) }
                if let summary = room.summary {
                    content.session.summaries.removeAll { $0.roomId == id }
                    content.session.summaries.append(summary)
                }
            }
            content.session.syncToken = changes.syncToken ?? content.session.syncToken
            return false
        }
        if fails { throw MatrixError(.store, "the disk is full") }
    }

    func state(of roomId: String) -> [MXEvent] { [] }

    func events(in roomId: String, before eventId: String?, limit: Int) -> [MXEvent] {
        content.withLock { Array(($0.timelines[roomId] ?? []).reversed().prefix(limit)) }
    }

    func event(_ eventId: String, in roomId: String) -> MXEvent? {
        content.withLock { $0.timelines[roomId]?.first { $0.eventId == eventId } }
    }

    func knownEvents(among eventIds: [String], in roomId: String) -> [String] {
        content.withLock { content in
            eventIds.filter { id in content.timelines[roomId]?.contains { $0.eventId == id } == true }
        }
    }

    func relations(to eventId: String, in roomId: String) -> [MXEvent] { [] }
    func receipts(in roomId: String) -> [MXReceipt] { [] }
    func trimTimeline(of roomId: String) -> String? { nil }
    func close() {}
    func deleteAllData() {}
}
