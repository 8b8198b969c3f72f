import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import PusherProtocol

/// A message of a room's history, as a line.
struct MessageRecord: OutputRecord {
    let event: MXEvent
    var senderName: String?
    /// Where it was said, if messages of several rooms are shown.
    var roomName: String?

    init(_ event: MXEvent) { self.event = event }

    /// What an edit, which the server tells of with the message, has made of it.
    private var content: JSONView {
        event.unsigned?["m.relations"]?["m.replace"]?["content"]?["m.new_content"] ?? event.contentJSON
    }

    private var isEdited: Bool { event.unsigned?["m.relations"]?["m.replace"] != nil }

    var json: String {
        var line = JSONLine(type: "message", time: event.date)
        line.add("room_id", event.roomId)
        line.add("event_id", event.eventId)
        line.add("event", event.type)
        line.add("sender", event.sender)
        line.add("body", content["body"]?.string)
        line.add("content", json: Self.oneLine(content))
        if isEdited { line.add("edited", json: "true") }
        if event.isRedacted { line.add("redacted", json: "true") }
        return line.text
    }

    /// Servers may break lines in JSON; a record may not.
    private static func oneLine(_ json: JSONView) -> String? {
        let text = String(decoding: json.data, as: UTF8.self)
        return text.contains(where: \.isNewline) ? json.foundation.flatMap(JSON.text) : text
    }

    /// `2026-01-31 12:00  Lobby  $id  Alice  hello`
    func text(style: TextStyle) -> TerminalText {
        let words = MatrixEventText(event, content: content)?.text ?? ""
        return [
            style.dim(Record.minute(event.date)), style.event(roomName ?? ""), style.dim(event.eventId),
            style.channel(senderName ?? event.sender), "\(words)\(isEdited ? " (edited)" : "")",
        ].inColumns()
    }
}
