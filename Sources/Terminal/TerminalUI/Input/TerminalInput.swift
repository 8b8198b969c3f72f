/// What came from a terminal: what somebody did there, or what it answers.
public enum TerminalInput: Hashable, Sendable {
    /// Characters that were typed, as many as came at once.
    case text(String)
    /// What was pasted at once, line breaks included.
    case paste(String)
    /// A key that is no text, or one with modifiers.
    case key(TerminalKey, TerminalModifiers)
    case mouse(TerminalMouse)
    /// Whether the terminal's window has the keyboard now.
    case focus(Bool)
    /// The window has another size.
    case resize(TerminalSize)
    case reply(TerminalReply)
    /// A sequence that means nothing here. It never becomes text.
    case unknown

    /// A key without modifiers.
    public static func key(_ key: TerminalKey) -> TerminalInput { .key(key, []) }

    /// Ctrl with a small letter.
    public static func control(_ letter: Character) -> TerminalInput { .key(.character(letter), .control) }

    /// Alt with a letter, small unless Shift is held too.
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
    /// With modifiers; alone it is ``TerminalInput/text(_:)``.
    case character(Character)
    case enter, tab, escape, backspace, delete, insert
    case left, right, up, down, home, end, pageUp, pageDown
    /// F1 is 1.
    case function(Int)
}

/// The keys that were held. Raw values are those of xterm's parameter, less one.
public struct TerminalModifiers: OptionSet, Hashable, Sendable {
    /// As the terminal sends it, less one.
    public let rawValue: UInt8

    /// Modifiers by their bits.
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

/// Something that was done with the mouse, at a cell that counts from 0.
public struct TerminalMouse: Hashable, Sendable {
    /// What was done.
    public enum Action: Hashable, Sendable {
        /// 0 is the left button, 1 the middle one, 2 the right one.
        case pressed(button: Int)
        case released(button: Int)
        case moved
        case scrolledUp, scrolledDown
    }

    /// What was done.
    public var action: Action
    /// From 0 at the left.
    public var column: Int
    /// From 0 at the top.
    public var row: Int
    /// The keys that were held meanwhile.
    public var modifiers: TerminalModifiers

    /// Something that was done at a cell.
    public init(_ action: Action, column: Int, row: Int, modifiers: TerminalModifiers = []) {
        (self.action, self.column, self.row, self.modifiers) = (action, column, row, modifiers)
    }
}

/// What a terminal answers when it is asked.
public enum TerminalReply: Hashable, Sendable {
    /// Where the cursor is, counted from 0 (`CSI 6 n`).
    case cursorPosition(column: Int, row: Int)
    /// What the terminal can do (`CSI c`); 4 is sixel graphics.
    case attributes([Int])
    /// Whether a private mode can be set (`CSI ? mode $ p`).
    case mode(Int, isKnown: Bool)
    /// The flags of kitty's keyboard protocol (`CSI ? u`).
    case keyboardFlags(Int)
    /// Pixels of one cell (`CSI 16 t`).
    case cellSize(width: Int, height: Int)
    /// The colour of the background, 0 to 255 each (`OSC 11`).
    case background(red: UInt8, green: UInt8, blue: UInt8)
    /// An answer to kitty's graphics protocol.
    case graphics(id: Int, isOK: Bool)
}

extension TerminalInput {
    /// Somebody did something at the keyboard.
    package var isKey: Bool {
        switch self {
        case .text, .paste, .key: true
        case .mouse, .focus, .resize, .reply, .unknown: false
        }
    }
}
