import Basics
import MatrixProtocol

extension StoredAccount {
    /// The working copy of the current turn.
    struct Draft: Sendable {
        var opened: Opened
        /// The application's room objects when the turn began.
        let rooms: [String: MXRoom]
        /// The answers stored in this turn.
        private(set) var committed: [Uncommitted] = []
        /// The rooms that are no longer in the model.
        private(set) var left: [String] = []

        /// Adds the result of an answer and stores it: a model is never visible before the store knows it.
        mutating func commit(_ applied: SessionModel.Applied) throws(MatrixError) {
            opened.uncommitted.append(Uncommitted(applied: applied))
            for case .left(let roomId, _) in applied.notices { left.append(roomId) }
            try commitNext()
        }

        /// Stores a change that did not come from an answer.
        mutating func commit(_ changes: MXStoreChanges) throws(MatrixError) {
            opened.uncommitted.append(Uncommitted(applied: SessionModel.Applied(changes: changes)))
            try commitChanges()
            guard opened.uncommitted.isEmpty else {
                throw MatrixError(.store, "the store has not taken yet what a sync has brought: it is tried again")
            }
        }

        /// Stores the oldest pending change.
        mutating func commitNext() throws(MatrixError) {
            guard let next = opened.uncommitted.first else { return }
            try opened.store.commit(next.applied.changes)
            opened.uncommitted.removeFirst()
            trim(after: next.applied.changes)
            if next.applied.changes.syncToken != nil { committed.append(next) }
        }

        /// Stores pending changes up to the first from a sync, which only a caller that reports it may store.
        mutating func commitChanges() throws(MatrixError) {
            while let next = opened.uncommitted.first, next.applied.changes.syncToken == nil { try commitNext() }
        }

        /// The number of new events after which the store is asked to trim a timeline.
        private static let growth = 50

        /// Discards the oldest events of rooms with too many in the store, except while they are being paged through,
        /// which begins in a turn.
        private mutating func trim(after changes: MXStoreChanges) {
            for (roomId, room) in changes.rooms where !room.timeline.isEmpty {
                opened.growth[roomId, default: 0] += room.timeline.count
                // Pending changes would restore the old pagination token.
                guard opened.growth[roomId, default: 0] >= Self.growth, opened.uncommitted.isEmpty,
                    rooms[roomId]?.timelines.contains(where: \.isPaginated) != true
                else { continue }
                opened.growth[roomId] = nil
                // If this fails, the next commit fails as well and reports it.
                guard let token = (try? opened.store.trimTimeline(of: roomId)) ?? nil else { continue }
                opened.model.trimmed(roomId, token: token)
            }
        }
    }
}
