import Foundation
import MatrixProtocol

/// All contents of a store, in an order independent of it.
struct StoreContents: Equatable {
    struct Room: Equatable {
        var timeline: [Data]
        var relations: [String: [Data]]
        var state: [Data]
        var receipts: Set<MXReceipt>
    }

    var summaries: [MXRoomSummary]
    var strippedStates: MXDictionary<[Data]>
    var accountData: [Data]
    var roomAccountData: MXDictionary<[Data]>
    var presence: [Data]
    var outgoing: [MXOutgoingEvent]
    var rooms: [String: Room]

    init(_ session: MXStoredSession, _ store: any MXStore) throws {
        summaries = session.summaries.sorted { $0.roomId < $1.roomId }
        strippedStates = session.strippedStates.mapValues { $0.map(\.data) }
        accountData = Self.sorted(session.accountData)
        roomAccountData = session.roomAccountData.mapValues(Self.sorted)
        presence = Self.sorted(session.presence)
        outgoing = session.outgoing
        rooms = [:]
        for number in 0..<12 {
            let roomId = ChangeStream.roomId(number)
            let roots = (0..<7).map { "$root-\($0)" }
            var relations: [String: [Data]] = [:]
            for root in roots { relations[root] = try store.relations(to: root, in: roomId).map(\.data) }
            rooms[roomId] = Room(
                timeline: try store.events(in: roomId, before: nil, limit: .max).map(\.data), relations: relations,
                state: Self.sorted(try store.state(of: roomId)), receipts: Set(try store.receipts(in: roomId)))
        }
    }

    private static func sorted(_ events: [MXEvent]) -> [Data] {
        events.map(\.data).sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// A description of the difference; `nil` if there is none.
    func difference(from other: StoreContents) -> String? {
        if summaries != other.summaries { return "summaries" }
        if strippedStates != other.strippedStates { return "stripped state" }
        if accountData != other.accountData || roomAccountData != other.roomAccountData { return "account data" }
        if presence != other.presence { return "presence" }
        if outgoing != other.outgoing { return "outgoing messages" }
        for (roomId, room) in rooms {
            guard let another = other.rooms[roomId] else { return roomId }
            if room.timeline != another.timeline {
                return "the timeline of \(roomId): \(room.timeline.count) events, not \(another.timeline.count)"
            }
            if room.relations != another.relations { return "relations in \(roomId)" }
            if room.state != another.state { return "state of \(roomId)" }
            if room.receipts != another.receipts { return "receipts in \(roomId)" }
        }
        return nil
    }
}
