public import TerminalUI

/// The assignment of keys to actions.
public struct MXKKeyMap: Hashable, Sendable {
    /// The action of a key. Raw values are the names in the settings file.
    public enum Action: String, CaseIterable, Hashable, Sendable {
        /// See ``summary``.
        case rooms, nextUnread = "next-unread", nextMention = "next-mention", members, filter, order
        /// See ``summary``.
        case previousMessage = "previous-message", nextMessage = "next-message"
        /// See ``summary``.
        case pageUp = "page-up", pageDown = "page-down", oldest, newest
        /// See ``summary``.
        case reply, thread, editLast = "edit-last", editor, links, copy, redraw, help

        /// The description for the help.
        public var summary: String {
            switch self {
            case .rooms: "find a room, by a part of its name"
            case .nextUnread: "next room with something unread"
            case .nextMention: "next room where you are mentioned"
            case .members: "go to the members; from there, hide them"
            case .filter: "show all rooms, unread ones, mentions, direct chats"
            case .order: "order the rooms by activity, unread first, by name"
            case .previousMessage: "choose the message before"
            case .nextMessage: "choose the message after"
            case .pageUp: "scroll up"
            case .pageDown: "scroll down"
            case .oldest: "go to the oldest message"
            case .newest: "go to the newest message"
            case .reply: "reply to the chosen message, or the newest"
            case .thread: "show the thread of the chosen message; esc leaves it"
            case .editLast: "edit the chosen message, or your last"
            case .editor: "write the message in your $EDITOR"
            case .links: "list the links of the chosen message, or of the room"
            case .copy: "copy the chosen message, or the newest"
            case .redraw: "draw the screen again"
            case .help: "this help"
            }
        }

        /// The default keys of the action: two, because some terminals do not pass all keys on.
        public var usualKeys: [TerminalInput] {
            switch self {
            case .rooms: [.control("k"), .key(.function(2))]
            case .nextUnread: [.alt("a"), .key(.function(3))]
            case .nextMention: [.alt("m"), .key(.function(4))]
            case .members: [.control("t"), .key(.function(5))]
            case .filter: [.alt("u"), .key(.function(6))]
            case .order: [.alt("o"), .key(.function(7))]
            case .previousMessage: [.key(.up, .alt), .alt("k")]
            case .nextMessage: [.key(.down, .alt), .alt("j")]
            case .pageUp: [.pageUp, .alt("v")]
            case .pageDown: [.pageDown, .control("v")]
            case .oldest: [.key(.home, .alt), .key(.home, .control)]
            case .newest: [.key(.end, .alt), .key(.end, .control)]
            case .reply: [.control("r"), .alt("r")]
            case .thread: [.alt("t"), .key(.function(10))]
            case .editLast: [.key(.up, .control), .alt("e")]
            case .editor: [.control("e"), .control("x")]
            case .links: [.alt("l"), .key(.function(8))]
            case .copy: [.alt("c"), .key(.function(9))]
            case .redraw: [.control("l"), .key(.function(12))]
            case .help: [.key(.function(1)), .alt("h")]
            }
        }
    }

    private var keys: [Action: [TerminalInput]]
    private var actions: [TerminalInput: Action]

    /// Creates the default key map.
    public init() {
        keys = Dictionary(uniqueKeysWithValues: Action.allCases.map { ($0, $0.usualKeys) })
        actions = [:]
        for action in Action.allCases { for key in action.usualKeys { actions[key] = action } }
    }

    /// Creates a key map with other keys for some actions. The others keep their defaults.
    ///
    /// - Throws: ``Problem`` for the action whose key is already taken or reserved.
    public init(_ changes: [Action: [TerminalInput]]) throws(Problem) {
        self.init()
        keys.merge(changes) { $1 }
        actions = [:]
        // Check changed actions last, so that a conflict is reported for them.
        for action in Action.allCases.filter({ changes[$0] == nil }) + Action.allCases.filter({ changes[$0] != nil }) {
            for key in keys[action] ?? [] {
                if Self.isReserved(key) {
                    throw Problem(action: action, words: "\(Self.name(of: key)) cannot be changed")
                }
                if let other = actions[key], other != action {
                    throw Problem(
                        action: action, words: "\(Self.name(of: key)) is the key of \(other.rawValue) already")
                }
                actions[key] = action
            }
        }
    }

    /// An invalid assignment of keys.
    public struct Problem: Error, Hashable, Sendable {
        /// The action with the invalid key.
        public let action: Action
        /// The error message.
        public let words: String
    }

    /// Returns the keys of an action.
    public func keys(of action: Action) -> [TerminalInput] { keys[action] ?? [] }

    /// Returns the action of a key; `nil` if there is none.
    public func action(of key: TerminalInput) -> Action? { actions[key] }

    /// Returns whether the program would be unusable without this key. Ctrl with I, M and [ are Tab, Enter and Escape.
    private static func isReserved(_ key: TerminalInput) -> Bool {
        switch key {
        case .key(.character(let letter), .control): "cijmz[".contains(letter)
        case .key(.enter, _), .key(.escape, _), .key(.tab, _), .key(.backspace, []): true
        case .key(.character, []), .key(.character, .shift), .text, .paste: true
        case .key, .mouse, .focus, .resize, .reply, .unknown: false
        }
    }

    // MARK: Names

    private static let names: [(String, TerminalKey)] = [
        ("enter", .enter), ("tab", .tab), ("esc", .escape), ("backspace", .backspace), ("delete", .delete),
        ("insert", .insert), ("left", .left), ("right", .right), ("up", .up), ("down", .down), ("home", .home),
        ("end", .end), ("pgup", .pageUp), ("pgdn", .pageDown),
    ]

    private static let modifiers: [(String, TerminalModifiers)] = [
        ("ctrl-", .control), ("alt-", .alt), ("shift-", .shift),
    ]

    /// Returns the key with a name such as `ctrl-k`, `alt-up` or `f5`; `nil` if there is none.
    public static func key(named name: String) -> TerminalInput? {
        var (rest, held) = (Substring(name.lowercased()), TerminalModifiers())
        while let (prefix, modifier) = modifiers.first(where: { rest.hasPrefix($0.0) && rest.count > $0.0.count }) {
            rest = rest.dropFirst(prefix.count)
            held.insert(modifier)
        }
        if let (_, key) = names.first(where: { $0.0 == rest }) { return .key(key, held) }
        if rest.first == "f", let number = Int(rest.dropFirst()), (1...24).contains(number) {
            return .key(.function(number), held)
        }
        guard rest.count == 1, let letter = rest.first else { return nil }
        return .key(.character(letter), held)
    }

    /// Returns the name of a key, as ``key(named:)`` accepts it.
    public static func name(of key: TerminalInput) -> String {
        guard case .key(let key, let held) = key else { return "this key" }
        let prefix = modifiers.filter { held.contains($0.1) }.map(\.0).joined()
        switch key {
        case .character(let letter): return prefix + String(letter)
        case .function(let number): return prefix + "f\(number)"
        case .enter, .tab, .escape, .backspace, .delete, .insert, .left, .right, .up, .down, .home, .end, .pageUp,
            .pageDown:
            return prefix + (names.first { $0.1 == key }?.0 ?? "")
        }
    }
}
