import Basics
import MatrixProtocol

extension StoredAccount {
    /// What the one who has the turn works on.
    struct Draft: Sendable {
        var opened: Opened
        /// As the application held them when the turn began.
        let rooms: [String: MXRoom]
        /// Answers that the store has taken in this turn.
        private(set) var committed: [Uncommitted] = []
        /// Rooms that the model has not any more.
        private(set) var left: [String] = []

        /// Takes over what an answer has led to, and stores it: nobody sees a model that the store does not know.
        mutating func commit(_ applied: SessionModel.Applied) throws(MatrixError) {
            opened.uncommitted.append(Uncommitted(applied: applied))
            for case .left(let roomId, _) in applied.notices { left.append(roomId) }
            try commitNext()
        }

        /// Stores a change that no answer has led to.
        mutating func commit(_ changes: MXStoreChanges) throws(MatrixError) {
            opened.uncommitted.append(Uncommitted(applied: SessionModel.Applied(changes: changes)))
            try commitChanges()
            guard opened.uncommitted.isEmpty else {
                throw MatrixError(.store, "the store has not taken yet what a sync has brought: it is tried again")
            }
        }

        /// Stores the oldest of what has been applied and is not stored yet.
        mutating func commitNext() throws(MatrixError) {
            guard let next = opened.uncommitted.first else { return }
            try opened.store.commit(next.applied.changes)
            opened.uncommitted.removeFirst()
            trim(after: next.applied.changes)
            if next.applied.changes.syncToken != nil { committed.append(next) }
        }

        /// Stores what waits, up to what a sync has brought: whoever stores that tells of it.
        mutating func commitChanges() throws(MatrixError) {
            while let next = opened.uncommitted.first, next.applied.changes.syncToken == nil { try commitNext() }
        }

        /// The store is asked to trim a timeline when so many events have come to it.
        private static let growth = 50

        /// Lets the oldest events of rooms go that the store has too many of, unless somebody is paging through them,
        /// which begins in a turn.
        private mutating func trim(after changes: MXStoreChanges) {
            for (roomId, room) in changes.rooms where !room.timeline.isEmpty {
                opened.growth[roomId, default: 0] += room.timeline.count
                // What is not stored yet would bring the old pagination token back.
                guard opened.growth[roomId, default: 0] >= Self.growth, opened.uncommitted.isEmpty,
                    rooms[roomId]?.timelines.contains(where: \.isPaginated) != true
                else { continue }
                opened.growth[roomId] = nil
                // Where this fails, the next commit does too, and says so.
                guard let token = (try? opened.store.trimTimeline(of: roomId)) ?? nil else { continue }
                opened.model.trimmed(roomId, token: token)
            }
        }
    }
}
