import Basics

/// Events that can be decrypted some time after they arrived.
extension SessionModel {
    /// Replaces stored events after another attempt to decrypt them, because a key arrived or was withheld.
    ///
    /// - Parameter events: The changed events, in the form to store.
    package mutating func decrypted(
        _ events: [MXEvent], in roomId: String, store: any MXStore
    ) throws(MatrixError) -> Applied {
        var applied = Applied()
        guard !events.isEmpty, let state = try state(of: roomId, in: store), let summary = rooms[roomId]?.summary else {
            return applied
        }
        let (version, rules) = (rooms[roomId]?.version, pushRules)
        let joinedCount = summary.hasServerCounts ? summary.joinedMembersCount : nil
        var (told, targets): ([LiveEvent], Set<ByteKey>) = ([], [])
        for event in events {
            // While it could not be decrypted, it had no relations.
            rooms[roomId]?.relations.remove(event.eventId)
            if let target = rooms[roomId]?.relations.add(event, in: version) { targets.insert(target) }
            if let poll = event.pollStartId { targets.insert(poll) }
            guard !ignoredUsers.contains(ByteKey(event.sender)) else { continue }
            let push =
                event.isEncrypted
                ? PushRules.Decision()
                : rules.decision(for: event, in: state, currentUser: userId, joinedCount: joinedCount)
            told.append(LiveEvent(event: event, roomId: roomId, state: nil, push: push))
        }
        var changes = MXStoreChanges.Room()
        changes.replaced = events
        applied.changes.rooms[roomId] = changes
        if !told.isEmpty { applied.notices.append(.decrypted(roomId: roomId, told)) }
        applied.notices += targets.map(\.string).sorted().map { .relationsChanged(roomId: roomId, eventId: $0) }
        if events.contains(where: { $0.eventId == summary.lastMessageId }) {
            applied.notices.append(.summaryChanged(roomId: roomId))
        }
        return applied
    }
}
