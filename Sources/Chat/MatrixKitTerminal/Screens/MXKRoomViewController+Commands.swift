import Foundation
import MatrixKit
import MatrixProtocol
import MatrixSDK

/// The commands of a room.
extension MXKRoomViewController {
    /// - Returns: False for commands that the surrounding program has to run.
    func carryOut(_ command: MXKCommand) -> Bool {
        guard let source = roomDataSource, let room = source.room else { return false }
        let words = command.words
        switch command.name {
        case "nick":
            perform("The name was not changed") {
                try await room.mxSession?.matrixRestClient.setDisplayName(command.rest)
            }
        case "part": perform("The room was not left") { try await room.leave() }
        case "invite": perform("\(words[0]) was not invited") { try await room.invite(words[0]) }
        case "kick":
            perform("\(words[0]) was not removed") { try await room.kickUser(words[0], reason: command.afterFirstWord) }
        case "ban":
            perform("\(words[0]) was not banned") { try await room.banUser(words[0], reason: command.afterFirstWord) }
        case "unban": perform("The ban of \(words[0]) was not lifted") { try await room.unbanUser(words[0]) }
        case "op":
            guard let level = Int(words[1]) else {
                inputToolbarView.hint = "The level is a number, such as 50."
                return true
            }
            setLevel(level, of: words[0], in: room)
        case "deop": setLevel(nil, of: words[0], in: room)
        case "topic": perform("The topic was not set") { try await room.setTopic(command.rest) }
        case "roomname": perform("The room was not named") { try await room.setName(command.rest) }
        case "reply": beginReply()
        case "thread": displayThread()
        case "edit": beginEdit()
        case "react": react(command.rest, source)
        case "redact": redact(command.rest, source, room)
        case "upload": upload(command, source)
        case "download": download(to: command.rest, source)
        case "unread":
            perform("The room was not marked") { try await room.setMarkedUnread(true) }
        case "read" where command.rest.isEmpty: source.markAllAsRead()
        default: return false
        }
        return true
    }

    private func perform(_ failure: String, _ work: @escaping @MainActor () async throws -> Void) {
        Task { [weak self] in
            do {
                try await work()
            } catch {
                self?.fail(failure, error)
            }
        }
    }

    private func setLevel(_ level: Int?, of user: String, in room: MXRoom) {
        perform("The power level of \(user) was not set") {
            guard let rest = room.mxSession?.matrixRestClient else { return }
            // The event replaces all power levels.
            guard user.hasPrefix("@"), user.contains(":"),
                var content = room.state?.event(type: "m.room.power_levels")?.content
            else {
                throw MatrixError(
                    .invalidArgument, "\(user) is no user id, or the room's power levels are not known",
                    roomId: room.roomId)
            }
            var users = content["users"] as? [String: Any] ?? [:]
            users[user] = level
            content["users"] = users
            _ = try await rest.sendStateEvent(
                toRoom: room.roomId, eventType: .roomPowerLevels, content: content, stateKey: "")
        }
    }

    private func react(_ reaction: String, _ source: MXKRoomDataSource) {
        guard let event = targetEvent(where: { source.canReactToEvent(withId: $0.eventId) }),
            source.canReactToEvent(withId: event.eventId)
        else { return show("There is no message to react to.") }
        let emoji = EmojiNames.all.first { ":\($0.name):" == reaction }?.emoji ?? reaction
        let mine = source.room?.aggregations(forEvent: event.eventId)?.reactions?[emoji]?.containsCurrentUser == true
        let failed: ((any Error)?) -> Void = { [weak self] in self?.fail("The reaction was not sent", $0) }
        if mine {
            source.removeReaction(emoji, forEventId: event.eventId, success: nil, failure: failed)
        } else {
            source.addReaction(emoji, forEventId: event.eventId, success: nil, failure: failed)
        }
    }

    private func redact(_ reason: String, _ source: MXKRoomDataSource, _ room: MXRoom) {
        guard let selectedEventId else { return show("Choose a message first: Alt-↑.") }
        guard let event = source.event(withEventId: selectedEventId) else { return }
        if event.isLocalEvent { return source.removeEvent(withEventId: selectedEventId) }
        perform("The message was not deleted") {
            try await room.redactEvent(selectedEventId, reason: reason.isEmpty ? nil : reason)
        }
    }

    /// Saves the file of the selected message, or else the newest file. Never opens it.
    private func download(to folder: String, _ source: MXKRoomDataSource) {
        guard let attachment = targetAttachment()?.file else { return show("There is no file to save.") }
        let path =
            folder.isEmpty ? FileManager.default.currentDirectoryPath : NSString(string: folder).expandingTildeInPath
        show("Saving…")
        perform("The file was not saved") { [weak self] in
            let file = try await attachment.save(to: URL(filePath: path))
            self?.show("Saved as \(file.path())")
        }
    }

    /// Returns the file of the selected message, or else the newest file, with its sender.
    func targetAttachment() -> (file: MXKAttachment, sender: String)? {
        guard let source = roomDataSource else { return nil }
        let formatter = source.eventFormatterInUse
        guard let event = targetEvent(where: formatter.isSupportedAttachment), formatter.isSupportedAttachment(event),
            let attachment = MXKAttachment(event: event, mxSession: source.mxSession), attachment.contentURL != nil
        else { return nil }
        return (attachment, event.sender)
    }

    private func upload(_ command: MXKCommand, _ source: MXKRoomDataSource) {
        let (path, caption) = DroppedFile.pathAndCaption(command.rest)
        let file = URL(filePath: path)
        if let problem = DroppedFile.problem(ofSending: path) {
            inputToolbarView.textMessage = "/upload \(command.rest)"
            inputToolbarView.hint = problem
            return
        }
        show("Sending \(file.lastPathComponent)…")
        perform("\(file.lastPathComponent) was not sent") {
            try await source.sendFile(file, mimeType: MediaType(of: file).mime, caption: caption)
        }
    }
}
