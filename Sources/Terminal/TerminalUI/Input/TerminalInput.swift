/// Input from a terminal: a user's action or a reply.
public enum TerminalInput: Hashable, Sendable {
    /// Typed characters, as many as arrived together.
    case text(String)
    /// Text from one paste, with its line breaks.
    case paste(String)
    /// A key that is not text, or one with modifiers.
    case key(TerminalKey, TerminalModifiers)
    case mouse(TerminalMouse)
    /// Whether the terminal's window has the keyboard focus.
    case focus(Bool)
    /// The window's size changed.
    case resize(TerminalSize)
    case reply(TerminalReply)
    /// A sequence without a meaning here. It never becomes text.
    case unknown

    /// Returns a key without modifiers.
    public static func key(_ key: TerminalKey) -> TerminalInput { .key(key, []) }

    /// Returns Ctrl with a lowercase letter.
    public static func control(_ letter: Character) -> TerminalInput { .key(.character(letter), .control) }

    /// Returns Alt with a letter, which is lowercase unless Shift is held too.
    public static func alt(_ letter: Character) -> TerminalInput { .key(.character(letter), .alt) }

    /// The Enter key alone.
    public static let enter = key(.enter)
    /// The Tab key alone.
    public static let tab = key(.tab)
    /// The Escape key alone.
    public static let escape = key(.escape)
    /// The Backspace key alone.
    public static let backspace = key(.backspace)
    /// The Delete key alone.
    public static let delete = key(.delete)
    /// The left arrow alone.
    public static let left = key(.left)
    /// The right arrow alone.
    public static let right = key(.right)
    /// The upward arrow alone.
    public static let up = key(.up)
    /// The downward arrow alone.
    public static let down = key(.down)
    /// The Home key alone.
    public static let home = key(.home)
    /// The End key alone.
    public static let end = key(.end)
    /// The Page Up key alone.
    public static let pageUp = key(.pageUp)
    /// The Page Down key alone.
    public static let pageDown = key(.pageDown)
}

/// A key of a keyboard.
public enum TerminalKey: Hashable, Sendable {
    /// A character with modifiers; without them, it is ``TerminalInput/text(_:)``.
    case character(Character)
    case enter, tab, escape, backspace, delete, insert
    case left, right, up, down, home, end, pageUp, pageDown
    /// A function key; F1 is 1.
    case function(Int)
}

/// The modifier keys. Raw values are those of xterm's parameter minus one.
public struct TerminalModifiers: OptionSet, Hashable, Sendable {
    /// The terminal's value minus one.
    public let rawValue: UInt8

    /// Creates modifiers from their bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The Shift key.
    public static let shift = TerminalModifiers(rawValue: 1)
    /// The Alt key, which Apple calls Option.
    public static let alt = TerminalModifiers(rawValue: 2)
    /// The Ctrl key.
    public static let control = TerminalModifiers(rawValue: 4)
    /// Super, which Apple calls Command.
    public static let command = TerminalModifiers(rawValue: 8)
}

/// A mouse action at a cell.
public struct TerminalMouse: Hashable, Sendable {
    /// A kind of mouse action.
    public enum Action: Hashable, Sendable {
        /// A button was pressed: 0 is the left one, 1 the middle one, 2 the right one.
        case pressed(button: Int)
        case released(button: Int)
        case moved
        case scrolledUp, scrolledDown
    }

    /// The action.
    public var action: Action
    /// The column, counted from 0 at the left.
    public var column: Int
    /// The row, counted from 0 at the top.
    public var row: Int
    /// The modifier keys held during the action.
    public var modifiers: TerminalModifiers

    /// Creates a mouse action at a cell.
    public init(_ action: Action, column: Int, row: Int, modifiers: TerminalModifiers = []) {
        (self.action, self.column, self.row, self.modifiers) = (action, column, row, modifiers)
    }
}

/// A terminal's reply to a query.
public enum TerminalReply: Hashable, Sendable {
    /// The cursor's position, counted from 0 (`CSI 6 n`).
    case cursorPosition(column: Int, row: Int)
    /// The terminal's features (`CSI c`); 4 is sixel graphics.
    case attributes([Int])
    /// Whether the terminal knows a private mode (`CSI ? mode $ p`).
    case mode(Int, isKnown: Bool)
    /// The flags of kitty's keyboard protocol (`CSI ? u`).
    case keyboardFlags(Int)
    /// The size of a cell in pixels (`CSI 16 t`).
    case cellSize(width: Int, height: Int)
    /// The background colour, from 0 to 255 each (`OSC 11`).
    case background(red: UInt8, green: UInt8, blue: UInt8)
    /// A reply of kitty's graphics protocol.
    case graphics(id: Int, isOK: Bool)
}

extension TerminalInput {
    /// Whether it is keyboard input.
    package var isKey: Bool {
        switch self {
        case .text, .paste, .key: true
        case .mouse, .focus, .resize, .reply, .unknown: false
        }
    }
}
