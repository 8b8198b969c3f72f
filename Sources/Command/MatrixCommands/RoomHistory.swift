import Foundation
import MatrixProtocol
import MatrixSDK

/// The messages of a room since a point in time: from the store, and before its start from the homeserver.
struct RoomHistory {
    private static let pageSize = 100
    private static let maximumPages = 10

    /// The events, oldest first.
    private(set) var events: [MXEvent] = []
    /// Whether older events in that period are missing.
    private(set) var isCut = false

    init(of room: MXRoomSummary, since date: Date, in session: MXSession) async throws {
        func isWanted(_ event: MXEvent) -> Bool { event.date >= date }
        let stored = try session.storedEvents(in: room.roomId, limit: MatrixStore.eventsPerRoom * 2)
        events = Array(stored.prefix(while: isWanted))
        var token = events.count == stored.count ? room.paginationToken : nil
        var pages = 0
        while let from = token {
            guard pages < Self.maximumPages else {
                isCut = true
                break
            }
            pages += 1
            let page = try await session.matrixRestClient.messages(
                forRoom: room.roomId, from: from, limit: Self.pageSize, filter: #"{"lazy_load_members":true}"#)
            let wanted = page.chunk.prefix(while: isWanted)
            events += try session.decrypted(Array(wanted), in: room.roomId)
            token = wanted.count == page.chunk.count && page.end != from ? page.end : nil
        }
        events.reverse()
    }
}
