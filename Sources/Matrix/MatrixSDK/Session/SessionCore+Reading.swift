import Basics
import MatrixProtocol
import Transport

/// What is known of single events, and what is read.
extension SessionCore {
    /// Asks the server for reactions to an event that is not stored with them.
    func fetchReactions(to eventId: String, in roomId: String) async throws {
        var token: String?
        // More pages than anybody reacts.
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

    /// Takes note of what events say about others that are not stored, and tells of it.
    func noteRelations(of events: [MXEvent], in roomId: String) throws(MatrixError) {
        try tellRelations(in: roomId) { $0.note(events, in: roomId) }
    }

    /// The server has redacted an event: what it said about another is forgotten before a sync says so.
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

    /// The server has taken a receipt of our own.
    func tookReceipt(_ roomId: String, upTo eventId: String, threadId: String? = nil) {
        // Where the store fails, a sync says the same.
        try? account.change { model, store throws(MatrixError) in
            try model.tookReceipt(roomId, upTo: eventId, threadId: threadId, ts: AccessTokens.now, in: store)
        }
        tell([.summaryChanged(roomId: roomId)])
    }

    /// Notes a direct chat in the account data `m.direct`, one change after the other.
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
