import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK

/// Searches the stored messages of encrypted rooms, which the homeserver cannot read.
enum LocalSearch {
    private static let pageSize = 200

    /// Returns the messages that contain the text, ignoring case and diacritics, newest first.
    @concurrent
    static func results(for text: String, in session: MXSession, rooms: [String]?) async throws -> [MXSearchResults
        .Result]
    {
        var found: [MXSearchResults.Result] = []
        for room in session.rooms where room.summary.isEncrypted && rooms?.contains(room.roomId) != false {
            var last: String?
            while true {
                try Task.checkCancellation()
                let page = try session.storedEvents(in: room.roomId, before: last, limit: pageSize)
                found += page.map { room.edited($0) }.filter { matches($0, text) }.map { .init(stored: $0) }
                guard page.count == pageSize, let end = page.last else { break }
                last = end.eventId
            }
        }
        return found.sorted { $0.event.originServerTs > $1.event.originServerTs }
    }

    private static func matches(_ event: MXEvent, _ text: String) -> Bool {
        guard event.type == "m.room.message", event.contentJSON["m.relates_to"]?["rel_type"]?.string != "m.replace",
            let body = event.newVersion?.body ?? event.body
        else { return false }
        return body.range(of: text, options: [.caseInsensitive, .diacriticInsensitive]) != nil
    }
}
