import Foundation
import MatrixKit
import MatrixProtocol
import MatrixSDK

/// Commands that do not belong to a room.
extension MXKChatViewController {
    func carryOut(_ command: MXKCommand) -> Bool {
        switch command.name {
        case "quit": onQuit?()
        case "help": isHelpShown = true
        case "reconnect": reconnect()
        case "account": chooseAccount(command.rest)
        case "theme": change("theme", to: command.rest, of: command)
        case "set": set(command)
        case "toggle": toggle(command)
        case "invites": showInvitations()
        case "mentions": showMentions()
        case "unread" where command.rest == "list": showUnread()
        case "links": showLinks()
        case "link": openLink(command)
        case "copy": copyMessage()
        case "open": openFile()
        case "threads": showThreads()
        default:
            guard let session = currentSession else { return false }
            return carryOut(command, in: session)
        }
        return true
    }

    private func carryOut(_ command: MXKCommand, in session: MXSession) -> Bool {
        switch command.name {
        case "logout": logOut()
        case "join":
            perform("\(command.rest) was not joined") { [weak self] in
                let joined = try await session.joinRoom(command.rest)
                self?.open(joined.roomId, in: session)
            }
        case "rooms": showPublicRooms(command.rest, session)
        case "create": create(command, session)
        case "msg", "query": openDirect(command, session)
        case "read" where command.rest == "all": markAllAsRead()
        case "search":
            searchResults.search(command.rest, inRoom: room.roomDataSource?.roomId, session: session)
            (focus, isAmongHits) = (.search, false)
        case "ignore": setIgnored(true, command.rest, of: command, session)
        case "unignore": setIgnored(false, command.rest, of: command, session)
        case "verify":
            guard let verification else {
                refuse(command, "This session does not encrypt: there is nothing to verify.")
                return true
            }
            verification.begin(with: command.words.first)
        case "devices": showDevices(session)
        case "keys": exchangeKeys(command, session)
        case "backup": backUp(session)
        case "rotate": rotateKeys(command, session)
        case "tag": tag(command, session)
        case "part": leave(session)
        case "forget": forget(session)
        case "resend": resend()
        case "kick", "ban", "redact", "upload": return ask(before: command)
        default: return false
        }
        return true
    }

    /// Keeps the command in the line and shows the reason for refusing it.
    func refuse(_ command: MXKCommand, _ words: String) {
        room.inputToolbarView.textMessage = "/\(command.name)" + (command.rest.isEmpty ? "" : " \(command.rest)")
        room.inputToolbarView.hint = words
    }

    func usage(of command: MXKCommand) -> String {
        "Usage: " + (MXKCommand.known.first { $0.name == command.name }?.usage ?? "/\(command.name)")
    }

    private func reconnect() {
        for session in mxSessions { session.reconnect() }
        room.show("Asking the homeserver…")
    }

    private func setIgnored(_ isIgnored: Bool, _ userId: String, of command: MXKCommand, _ session: MXSession) {
        guard userId.hasPrefix("@"), userId.contains(":"), !userId.contains(" ") else {
            return refuse(command, usage(of: command) + ", such as @name:server")
        }
        setIgnored(isIgnored, userId, session)
    }

    private func markAllAsRead() {
        for session in mxSessions {
            for room in session.rooms where room.summary.isUnread {
                perform("\(room.displayName) was not marked as read") { try await Self.markAsRead(room) }
            }
        }
    }

    /// Marks a room as read to its end and clears its unread mark.
    static func markAsRead(_ room: MXRoom) async throws {
        try await room.markAllAsRead()
        if room.summary.isMarkedUnread { try await room.setMarkedUnread(false) }
    }

    private func openDirect(_ command: MXKCommand, _ session: MXSession) {
        let user = command.words[0]
        guard user.hasPrefix("@"), user.contains(":") else {
            return refuse(command, usage(of: command) + ", such as @name:server")
        }
        openDirect(user, text: command.afterFirstWord, session)
    }

    func openDirect(_ user: String, text: String? = nil, _ session: MXSession) {
        let known = session.rooms.first { $0.directUserId == user }
        perform("The chat with \(user) was not opened") { [weak self] in
            let target: MXRoom
            if let known {
                target = known
            } else {
                let parameters = MXRoomCreationParameters()
                (parameters.inviteArray, parameters.isDirect, parameters.preset) = (
                    [user], true, "trusted_private_chat"
                )
                target = try await session.createRoom(parameters: parameters)
            }
            self?.open(target.roomId, in: session)
            if let text { _ = try await target.sendMarkdown(text) }
        }
    }

    // MARK: Rooms

    private static let createUsage = "Usage: /create [--public] [--encrypted] name"

    private func create(_ command: MXKCommand, _ session: MXSession) {
        var (words, isPublic, isEncrypted) = (command.words[...], false, false)
        while let word = words.first, word.hasPrefix("--") {
            switch word {
            case "--public": isPublic = true
            case "--encrypted": isEncrypted = true
            default: return refuse(command, Self.createUsage)
            }
            words.removeFirst()
        }
        guard !words.isEmpty else { return refuse(command, Self.createUsage) }
        let parameters = MXRoomCreationParameters()
        parameters.name = words.joined(separator: " ")
        parameters.preset = isPublic ? kMXRoomPresetPublicChat : kMXRoomPresetPrivateChat
        parameters.visibility = isPublic ? .public : .private
        parameters.isEncrypted = isEncrypted
        perform("The room was not made") { [weak self] in
            let made = try await session.createRoom(parameters: parameters)
            self?.open(made.roomId, in: session)
        }
    }

    private static let tags = ["favourite": "m.favourite", "low": "m.lowpriority"]

    private func tag(_ command: MXKCommand, _ session: MXSession) {
        guard let target = currentRoom else { return refuse(command, "No room is shown.") }
        let (name, removes) =
            command.rest.hasPrefix("-") ? (String(command.rest.dropFirst()), true) : (command.rest, false)
        guard !name.isEmpty, !name.contains(" ") else { return refuse(command, usage(of: command)) }
        let tag = Self.tags[name] ?? (name.hasPrefix("m.") ? name : "u." + name)
        perform("The room's tag was not changed") { [weak self] in
            if removes { try await target.removeTag(tag) } else { try await target.addTag(tag) }
            self?.room.show(removes ? "\(name) is no tag of the room any more." : "The room has the tag \(name).")
        }
    }

    /// The room on screen, as its session has it.
    var currentRoom: MXRoom? { room.roomDataSource?.room }

    /// Leaves the room after a confirmation: unless it is public, only an invitation leads back.
    private func leave(_ session: MXSession) {
        guard let roomId = room.roomDataSource?.roomId else { return room.show("No room is shown.") }
        let name = currentRoom?.displayName ?? roomId
        confirm("Leave \(name)", ["If it is not public, only an invitation brings you back."], action: "Leave") {
            [weak self] in
            self?.perform("\(name) was not left") { try await session.leaveRoom(roomId) }
        }
    }

    private func forget(_ session: MXSession) {
        guard let roomId = room.roomDataSource?.roomId else { return room.show("No room is shown.") }
        let name = currentRoom?.displayName ?? roomId
        confirm(
            "Forget \(name)", ["You leave the room, and the homeserver gives you none of its messages any more."],
            action: "Leave and forget"
        ) { [weak self] in
            self?.perform("\(name) was not forgotten") {
                if session.room(withRoomId: roomId) != nil { try await session.leaveRoom(roomId) }
                try await session.matrixRestClient.forgetRoom(roomId)
                if self?.room.roomDataSource?.roomId == roomId { self?.room.displayRoom(nil) }
                self?.room.show("\(name) is forgotten.")
            }
        }
    }

    /// Resends all failed messages of the room, in order.
    private func resend() {
        guard let target = currentRoom else { return room.show("No room is shown.") }
        let failed = target.outgoingMessages.filter { $0.sentState == .failed }
        guard !failed.isEmpty else { return room.show("Everything here is sent.") }
        for event in failed {
            perform("A message was not sent") { try await target.resend(event.eventId) }
        }
    }

    // MARK: Settings

    func change(_ name: String, to value: String, of command: MXKCommand? = nil) {
        if let problem = settings.set(name, to: value) {
            if let command { refuse(command, problem) } else { room.show(problem) }
        }
        if name == "theme", let chosen = settings.theme { theme = chosen }
        applySettings()
    }

    private func set(_ command: MXKCommand) {
        let words = command.words
        guard words.count == 2 else {
            return refuse(command, usage(of: command) + ": server, \(MXKChatSettings.names.joined(separator: ", "))")
        }
        if words[0] == "server" {
            let servers = MXKDirectoryServersDataSource(matrixSession: currentSession)
            guard servers.addServer(words[1]) else { return refuse(command, "\(words[1]) is no name of a homeserver.") }
            return room.show("/rooms can look for rooms of \(words[1]) now.")
        }
        change(words[0], to: words[1], of: command)
    }

    private func toggle(_ command: MXKCommand) {
        if command.rest == "joins" { return toggleComingAndGoing() }
        guard let toggle = MXKChatSettings.Toggle(rawValue: command.rest) else {
            return refuse(command, usage(of: command))
        }
        change(toggle.rawValue, to: settings[toggle] ? "off" : "on", of: command)
    }

    /// Shows the keys for help in the empty line.
    func showPlaceholder() {
        let key = settings.keys.keys(of: .help).first.map(MXKKeyMap.name) ?? "f1"
        room.inputToolbarView.placeholder = "Message (help: \(key.hasPrefix("f") ? key.uppercased() : key) or ?)"
    }

    /// Applies the settings to the screen.
    func applySettings() {
        showPlaceholder()
        showsMembers = settings[.members]
        room.layoutOptions.showsReceipts = settings[.receipts]
        room.layoutOptions.showsImages = allowsImages && settings[.images]
        room.layoutOptions.namesEmoji = settings[.emoji]
        room.layoutOptions.revealsSpoilers = settings[.spoilers]
        if showsGraphics != settings[.graphics] {
            showsGraphics = settings[.graphics]
            onGraphics?(showsGraphics)
        }
        if reportsMouse != settings[.mouse] {
            reportsMouse = settings[.mouse]
            onMouse?(reportsMouse)
        }
        if let list = recents.dataSource, list.order != settings.order { list.order = settings.order }
        setNeedsDisplay()
    }

    /// Toggles joins and leaves, a setting that the kit stores in its file.
    private func toggleComingAndGoing() {
        let types = ["m.room.member"]
        let kit = room.roomDataSource?.eventFormatterInUse.settings ?? MXKAppSettings.standard()
        if kit.eventsFilterForMessages.contains(types[0]) {
            kit.removeSupportedEventTypes(types)
        } else {
            kit.addSupportedEventTypes(types)
        }
        room.roomDataSource?.reload()
    }
}
