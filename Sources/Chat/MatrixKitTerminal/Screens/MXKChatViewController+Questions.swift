import Foundation
import MatrixKit
import MatrixProtocol
import MatrixSDK

/// Confirmation of commands that others notice and that cannot be undone.
extension MXKChatViewController {
    /// Asks for confirmation and then lets the room run the command. Until then the command stays in the line.
    ///
    /// - Returns: False if no confirmation is needed: the room runs the command.
    func ask(before command: MXKCommand) -> Bool {
        guard let source = room.roomDataSource, let target = source.room else { return false }
        switch command.name {
        case "kick": askAboutMember(command, in: target, action: "Remove", "may come back.")
        case "ban": askAboutMember(command, in: target, action: "Ban", "may not come back.")
        case "redact": return askAboutMessage(command, source)
        case "upload": return askAboutFile(command, source, target)
        default: return false
        }
        return true
    }

    private func confirm(_ command: MXKCommand, _ title: String, _ words: [String], action: String) {
        let line = "/\(command.name)" + (command.rest.isEmpty ? "" : " \(command.rest)")
        room.inputToolbarView.textMessage = line
        confirm(title, words, action: action) { [weak self] in
            guard let room = self?.room else { return }
            if room.inputToolbarView.textMessage == line { room.inputToolbarView.textMessage = "" }
            _ = room.carryOut(command)
        }
    }

    private func askAboutMember(_ command: MXKCommand, in target: MXRoom, action: String, _ end: String) {
        let user = command.words[0]
        let name = target.state?.members.memberName(user) ?? user
        let reason = command.afterFirstWord.map { ["Reason: \($0)"] } ?? []
        confirm(
            command, "\(action) \(name.contains(user) ? name : "\(name) (\(user))")?", ["\(user) \(end)"] + reason,
            action: action)
    }

    /// Asks before deleting other users' messages. The user's own are deleted without confirmation.
    private func askAboutMessage(_ command: MXKCommand, _ source: MXKRoomDataSource) -> Bool {
        guard let eventId = room.selectedEventId, let event = source.event(withEventId: eventId), !event.isLocalEvent,
            event.sender != source.mxSession?.ownUserId
        else { return false }
        let name = source.eventFormatterInUse.senderDisplayName(for: event, with: source.roomState) ?? event.sender
        let reason = command.rest.isEmpty ? [] : ["Reason: \(command.rest)"]
        confirm(
            command, "Delete the message of \(name)?", ["Nobody in the room can read it any more."] + reason,
            action: "Delete")
        return true
    }

    private func askAboutFile(_ command: MXKCommand, _ source: MXKRoomDataSource, _ target: MXRoom) -> Bool {
        let (path, caption) = DroppedFile.pathAndCaption(command.rest)
        guard DroppedFile.problem(ofSending: path) == nil else { return false }
        let size = (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int ?? 0
        let place = source.threadId == nil ? target.displayName : "a thread in \(target.displayName)"
        let isEncrypted = target.summary.isEncrypted ? "is encrypted" : "is not encrypted"
        confirm(
            command, "Send \(URL(filePath: path).lastPathComponent)?",
            ["\(MXKAttachment.words(ofBytes: size)), to \(place), which \(isEncrypted)"]
                + (caption.map { ["With the words: \($0)"] } ?? []), action: "Send")
        return true
    }
}
