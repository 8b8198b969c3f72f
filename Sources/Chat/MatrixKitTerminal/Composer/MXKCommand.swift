/// A command in the composer: `/kick @user:server reason`.
public struct MXKCommand: Hashable, Sendable {
    /// The definition of a command, for help and completion.
    public struct Definition: Hashable, Sendable {
        /// The name without the slash.
        public let name: String
        /// The arguments as shown in the help.
        public let arguments: String
        /// A description of the command.
        public let summary: String
        /// The number of required arguments.
        public let required: Int

        /// `/name arguments`
        public var usage: String { arguments.isEmpty ? "/\(name)" : "/\(name) \(arguments)" }
    }

    /// The command's name in lower case.
    public let name: String
    /// The text after the name, without surrounding spaces.
    public let rest: String

    /// The words after the name.
    public var words: [String] { rest.split(separator: " ").map(String.init) }

    /// The text after the first word.
    public var afterFirstWord: String? {
        guard let space = rest.firstIndex(of: " ") else { return nil }
        let after = rest[rest.index(after: space)...].drop { $0 == " " }
        return after.isEmpty ? nil : String(after)
    }

    /// Returns `nil` if the text is not a command. `//x` is not one: it sends `/x`.
    public init?(_ text: String) {
        guard text.hasPrefix("/"), !text.hasPrefix("//"), let first = text.dropFirst().first, first.isLetter else {
            return nil
        }
        let body = text.dropFirst()
        let name = body.prefix { !$0.isWhitespace }
        // A path is not a command.
        guard !name.contains("/") else { return nil }
        self.name = name.lowercased()
        rest = String(body.dropFirst(name.count).drop { $0.isWhitespace })
    }

    /// The commands for rooms.
    public static let known: [Definition] = [
        .init(name: "me", arguments: "text", summary: "Say what you do", required: 1),
        .init(name: "nick", arguments: "name", summary: "Change your name", required: 1),
        .init(name: "join", arguments: "room", summary: "Join a room", required: 1),
        .init(name: "part", arguments: "", summary: "Leave this room", required: 0),
        .init(name: "rooms", arguments: "[text]", summary: "Find public rooms", required: 0),
        .init(name: "create", arguments: "[--public] [--encrypted] name", summary: "Make a room", required: 1),
        .init(name: "invites", arguments: "", summary: "Show who invites you, to accept or decline", required: 0),
        .init(name: "invite", arguments: "user", summary: "Invite somebody", required: 1),
        .init(name: "kick", arguments: "user [reason]", summary: "Remove somebody", required: 1),
        .init(name: "ban", arguments: "user [reason]", summary: "Ban somebody", required: 1),
        .init(name: "unban", arguments: "user", summary: "Lift a ban", required: 1),
        .init(name: "op", arguments: "user level", summary: "Set the power level of somebody", required: 2),
        .init(name: "deop", arguments: "user", summary: "Take the power level of somebody away", required: 1),
        .init(name: "topic", arguments: "text", summary: "Set the topic", required: 1),
        .init(name: "roomname", arguments: "text", summary: "Name the room", required: 1),
        .init(
            name: "tag", arguments: "favourite|low|name",
            summary: "Give the room a tag; with - before it, take it away", required: 1),
        .init(
            name: "forget", arguments: "", summary: "Leave this room, and have the homeserver forget it", required: 0),
        .init(name: "msg", arguments: "user [text]", summary: "Open a direct chat", required: 1),
        .init(name: "query", arguments: "user [text]", summary: "The same as /msg", required: 1),
        .init(name: "ignore", arguments: "user", summary: "Show nothing of somebody", required: 1),
        .init(name: "unignore", arguments: "user", summary: "Show somebody again", required: 1),
        .init(name: "reply", arguments: "", summary: "Answer the chosen message", required: 0),
        .init(
            name: "thread", arguments: "", summary: "Show the thread of the chosen message, or begin it", required: 0),
        .init(name: "threads", arguments: "", summary: "List the threads of this room", required: 0),
        .init(name: "edit", arguments: "", summary: "Change the chosen message, or your last", required: 0),
        .init(name: "react", arguments: "emoji", summary: "React to the chosen message, or the last", required: 1),
        .init(name: "redact", arguments: "[reason]", summary: "Delete the chosen message", required: 0),
        .init(name: "copy", arguments: "", summary: "Copy the chosen message, or the newest", required: 0),
        .init(name: "resend", arguments: "", summary: "Send again what could not be sent here", required: 0),
        .init(
            name: "links", arguments: "", summary: "List the links of the chosen message, or of the room", required: 0),
        .init(name: "link", arguments: "[number]", summary: "Open a link of that list", required: 0),
        .init(name: "upload", arguments: "path [caption]", summary: "Send a file", required: 1),
        .init(name: "download", arguments: "[folder]", summary: "Save the file of the chosen message", required: 0),
        .init(
            name: "open", arguments: "",
            summary: "Open the file of the chosen message with $MATRIX_OPENER or xdg-open", required: 0),
        .init(
            name: "search", arguments: "text", summary: "Search this room; n and N go to the next and previous hit",
            required: 1),
        .init(name: "mentions", arguments: "", summary: "List what mentions you in all rooms", required: 0),
        .init(
            name: "unread", arguments: "[list]", summary: "Mark this room as unread, or list the unread rooms",
            required: 0),
        .init(name: "read", arguments: "[all]", summary: "Mark this room, or all, as read", required: 0),
        .init(name: "verify", arguments: "[user]", summary: "Verify somebody, or this device, by emoji", required: 0),
        .init(name: "devices", arguments: "", summary: "List your devices", required: 0),
        .init(
            name: "keys", arguments: "export|import path",
            summary: "Write the keys of messages to a file, or take them from one", required: 2),
        .init(name: "backup", arguments: "", summary: "Write the keys to the backup on the homeserver", required: 0),
        .init(name: "rotate", arguments: "", summary: "Encrypt the next message here with a new key", required: 0),
        .init(name: "account", arguments: "[user]", summary: "Show the accounts, or go to another", required: 0),
        .init(
            name: "reconnect", arguments: "", summary: "Ask the homeserver now, whatever is waited for", required: 0),
        .init(name: "logout", arguments: "", summary: "Log this account out", required: 0),
        .init(
            name: "toggle", arguments: "joins|members|images|graphics|receipts|mouse|emoji|spoilers",
            summary: "Show or hide",
            required: 1),
        .init(name: "theme", arguments: "dark|light|plain", summary: "Change the colours", required: 1),
        .init(name: "set", arguments: "name value", summary: "Change a setting", required: 2),
        .init(name: "help", arguments: "", summary: "Show the keys and commands", required: 0),
        .init(name: "quit", arguments: "", summary: "Leave the program", required: 0),
    ]

    /// Returns the reason why the command cannot run, as a message to the user; `nil` if it can.
    public func problem(among known: [Definition] = MXKCommand.known) -> String? {
        guard let definition = known.first(where: { $0.name == name }) else {
            return "There is no command /\(name). To send it as text, write //\(name)."
        }
        return words.count < definition.required ? "Usage: \(definition.usage)" : nil
    }
}
