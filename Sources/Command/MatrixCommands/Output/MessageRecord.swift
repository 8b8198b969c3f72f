import CommandKit
import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import PusherProtocol

/// A message of a room's history, as a line.
struct MessageRecord: OutputRecord {
    let event: MXEvent
    var senderName: String?
    /// The name of the room, if messages of several rooms are shown.
    var roomName: String?

    /// The current content.
    private(set) var content: MatrixMessageContent
    var context = MatrixEventText.Context()
    /// The shield for its sender.
    var shield = MXMessageShield.none

    init(_ event: MXEvent) {
        self.event = event.withBundledEdit
        content = MatrixMessageContent(self.event)
    }

    /// - Parameter votes: All events that refer to the poll.
    mutating func count(_ votes: [MXEvent], currentUser userId: String?, mayEnd: (String) -> Bool) {
        guard case .poll(var poll) = content else { return }
        poll.count(votes, sender: event.sender, currentUser: userId, mayEnd: mayEnd)
        content = .poll(poll)
    }

    var json: String {
        var line = JSONLine(type: "message", time: event.date)
        line.add("room_id", event.roomId)
        line.add("event_id", event.eventId)
        line.add("event", event.type)
        line.add("sender", event.sender)
        line.add("body", event.contentJSON["body"]?.string)
        line.add("content", json: Self.oneLine(event.contentJSON))
        line.add(message: event, content)
        if event.isEdited { line.add("edited", json: "true") }
        if event.isRedacted { line.add("redacted", json: "true") }
        if shield != .none { line.add("shield", shield.name) }
        return line.text
    }

    /// Servers may send JSON with line breaks, which a record must not contain.
    private static func oneLine(_ json: JSONView) -> String? {
        let text = String(decoding: json.data, as: UTF8.self)
        return text.contains(where: \.isNewline) ? json.foundation.flatMap(JSON.text) : text
    }

    /// Returns a line such as `2026-01-31 12:00  Lobby  $id  Alice  hello`.
    func text(style: TextStyle) -> TerminalText {
        let words = MatrixEventText(event, content, context: context).text + shield.mark
        return [
            style.dim(Record.minute(event.date)), style.event(roomName ?? ""), style.dim(event.eventId),
            style.channel(senderName ?? event.sender), TerminalText(words),
        ].inColumns()
    }
}
