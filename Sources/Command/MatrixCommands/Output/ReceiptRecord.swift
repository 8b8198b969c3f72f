import CommandKit
import Foundation
import MatrixSDK

/// The read receipt of a user, as a line.
struct ReceiptRecord: ListRecord {
    let receipt: MXReceipt
    let roomID: String
    var userName: String?

    private var date: Date { Date(timeIntervalSince1970: Double(receipt.ts) / 1000) }
    private var isPrivate: Bool { receipt.type == "m.read.private" }

    var json: String {
        var line = JSONLine(type: "receipt", time: date)
        line.add("room_id", roomID)
        line.add("user_id", receipt.userId)
        line.add("event_id", receipt.eventId)
        line.add("thread_id", receipt.threadId)
        line.add("private", json: String(isPrivate))
        return line.text
    }

    /// Returns columns such as `2026-01-31 12:00  Alice  @alice:example.org  $id`, and `thread $root` for a thread.
    func columns(style: TextStyle) -> [TerminalText] {
        let parts: [TerminalText?] = [
            style.dim(Record.minute(date)), style.event(userName ?? ""), style.channel(receipt.userId),
            style.dim(receipt.eventId),
            receipt.threadId.flatMap { $0 == "main" ? nil : "thread \($0)" }, isPrivate ? "private" : nil,
        ]
        return parts.map { $0 ?? "" }
    }
}
