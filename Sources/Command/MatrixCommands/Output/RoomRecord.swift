import CommandKit
import Foundation
import JSONBytes
import MatrixSDK

/// A room of the account, as a line.
struct RoomRecord: ListRecord {
    let room: MXRoomSummary

    var json: String {
        var line = JSONLine(type: "room")
        line.add("room_id", room.roomId)
        line.add("name", room.displayName)
        line.add("alias", room.canonicalAlias)
        line.add("membership", room.membership.rawValue)
        line.add("inviter", room.inviter)
        line.add("members", room.joinedMembersCount)
        line.add("unread", room.notificationCount)
        line.add("highlights", room.highlightCount)
        if !room.unreadThreads.isEmpty { line.add("unread_threads", json: threads) }
        line.add("direct", json: String(room.isDirect))
        line.add("encrypted", json: String(room.isEncrypted))
        line.add("last_message", lastMessage.map(JSONLine.text))
        return line.text
    }

    /// Returns columns such as `name  id  2 members  3 unread, 2 in threads  2026-01-31 12:00`.
    func columns(style: TextStyle) -> [TerminalText] {
        let isInvitation = room.membership == .invite
        let parts: [TerminalText?] = [
            style.event(room.displayName), style.channel(room.roomId),
            isInvitation
                ? "invitation\(room.inviter.map { " from \($0)" } ?? "")"
                : room.joinedMembersCount == 1 ? "1 member" : "\(room.joinedMembersCount) members",
            room.notificationCount == 0 ? nil : unread,
            room.isEncrypted ? "encrypted" : nil,
            lastMessage.map { style.dim(Record.minute($0)) },
        ]
        return parts.map { $0 ?? "" }
    }

    private var unread: TerminalText {
        let inThreads = room.unreadThreads.values.reduce(0) { $0 + $1.notificationCount }
        return "\(room.notificationCount) unread\(inThreads == 0 ? "" : ", \(inThreads) in threads")"
    }

    private var threads: String {
        var object = JSONWriter()
        for (root, counts) in room.unreadThreads.sorted(by: { $0.key < $1.key }) {
            object.add(
                root, json: #"{"unread":\#(counts.notificationCount),"highlights":\#(counts.highlightCount)}"#)
        }
        return object.text
    }

    private var lastMessage: Date? {
        room.lastMessageTs == 0 ? nil : Date(timeIntervalSince1970: Double(room.lastMessageTs) / 1000)
    }
}
