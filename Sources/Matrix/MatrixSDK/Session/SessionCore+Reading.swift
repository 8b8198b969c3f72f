import Basics
import MatrixProtocol
import Transport

extension SessionCore {
    /// Requests reactions to an event that is not stored with them.
    func fetchReactions(to eventId: String, in roomId: String) async throws {
        var token: String?
        // More pages than any event's reactions need.
        for _ in 0..<20 {
            let page = try await rest.relations(
                forEvent: eventId, inRoom: roomId, relationType: "m.annotation", eventType: .reaction, from: token)
            try account.change { model, _ in
                model.add(relations: [eventId: page.chunk], ofEach: [eventId], in: roomId)
                return nil
            }
            token = page.nextBatch
            if token == nil { return }
        }
    }

    /// Records how events relate to others that are not stored, and reports the changes.
    func noteRelations(of events: [MXEvent], in roomId: String) throws(MatrixError) {
        try tellRelations(in: roomId) { $0.note(events, in: roomId) }
    }

    /// Handles a redaction the server accepted: forgets the event's relation before a sync reports it.
    func redacted(_ eventId: String, in roomId: String) throws(MatrixError) {
        try tellRelations(in: roomId) { model in model.redacted(eventId, in: roomId).map { [$0] } ?? [] }
    }

    private func tellRelations(in roomId: String, _ change: (inout SessionModel) -> [String]) throws(MatrixError) {
        var targets: [String] = []
        try account.change { model, _ in
            targets = change(&model)
            return nil
        }
        guard !targets.isEmpty else { return }
        tell(Set(targets).sorted().map { .relationsChanged(roomId: roomId, eventId: $0) })
    }

    /// Handles a receipt of the user that the server accepted.
    func tookReceipt(_ roomId: String, upTo eventId: String, threadId: String? = nil) {
        // If the store fails, a sync reports the same.
        try? account.change { model, store throws(MatrixError) in
            try model.tookReceipt(roomId, upTo: eventId, threadId: threadId, ts: AccessTokens.now, in: store)
        }
        tell([.summaryChanged(roomId: roomId)])
    }

    /// Records a direct chat in the account data `m.direct`, one change at a time.
    func addDirectRoom(_ roomId: String, with user: String) async throws {
        try await directRoomChanges.inTurn {
            let old = try await self.rest.accountData(ofType: "m.direct")
            var rooms: [String: [String]] = [:]
            for (user, list) in old?.members ?? [] { rooms[user] = list.array?.compactMap(\.string) ?? [] }
            guard rooms[user]?.contains(roomId) != true else { return }
            rooms[user, default: []].append(roomId)
            try await self.rest.setAccountData(rooms, ofType: "m.direct")
        }
    }
}
