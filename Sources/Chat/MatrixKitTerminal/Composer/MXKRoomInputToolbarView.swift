import Foundation
public import MatrixProtocol
public import TerminalUI

/// Receives the user's input.
@MainActor
public protocol MXKRoomInputToolbarViewDelegate: AnyObject {
    /// Called when the user entered a message.
    func roomInputToolbarView(_ toolbarView: MXKRoomInputToolbarView, sendTextMessage text: String)
    /// Called when the user started or stopped typing.
    func roomInputToolbarView(_ toolbarView: MXKRoomInputToolbarView, isTyping: Bool)
}

extension MXKRoomInputToolbarViewDelegate {
    /// The default implementation does nothing.
    public func roomInputToolbarView(_ toolbarView: MXKRoomInputToolbarView, isTyping: Bool) {}
}

/// The message composer. It grows with the text, and completes names and commands.
@MainActor
open class MXKRoomInputToolbarView {
    /// The kind of message to send.
    public enum Mode: Hashable, Sendable {
        /// A new message.
        case message
        /// A reply to an event.
        case reply(eventId: String, to: String)
        /// A new version of an event.
        case edit(eventId: String)
    }

    /// The maximum number of visible lines; longer text scrolls.
    public static let maximumLines = 8
    private static let maximumCandidates = 8

    /// The delegate that receives the input.
    public weak var delegate: (any MXKRoomInputToolbarViewDelegate)?
    /// The text shown while the composer is empty.
    public var placeholder = "Message"
    /// The kind of message to send.
    public var mode = Mode.message
    /// Users that the text may name, for example by completion. The sending code checks which of them the text still
    /// names.
    public private(set) var mentions: [MXMention] = []
    /// An error, or the usage of a command. The next key clears it.
    public var hint: String?
    /// Returns the completions for the word before the cursor.
    public var completions: (String) -> [MXKCompletion] = { _ in [] }

    private var editor = LineEditor(form: .severalLines)
    private var choice: (candidates: [MXKCompletion], index: Int, start: String)?

    /// Creates an empty composer.
    public init() {}

    /// The text in the composer.
    public var textMessage: String {
        get { editor.line }
        set {
            editor.replace(before: newValue)
            (choice, inserted) = (nil, "")
        }
    }

    /// Inserts the name of a user and mentions them.
    public func mention(_ mention: MXMention) {
        let text = editor.line
        let end = text.isEmpty ? ": " : " "
        textMessage = (text.isEmpty || text.hasSuffix(" ") ? text : text + " ") + mention.name + end
        add(mention)
    }

    private func add(_ mention: MXMention) {
        mentions.removeAll { $0.name == mention.name }
        mentions.append(mention)
    }

    // MARK: Drafts

    /// The text to restore after an edit.
    private var setAside: (text: String, mode: Mode, mentions: [MXMention])?

    /// The user's unsent text, without the text of an edit.
    public var draft: String {
        if case .edit = mode { return setAside?.text ?? "" }
        return editor.line
    }

    /// Resets the composer to this text, for example for another room.
    public func begin(with text: String) {
        (mode, setAside, mentions) = (.message, nil, [])
        textMessage = text
    }

    /// Starts editing a message. The current text is restored afterwards.
    ///
    /// - Parameter mentions: The users named in the message.
    public func beginEdit(of eventId: String, text: String, mentions: [MXMention] = []) {
        if case .edit = mode {} else { setAside = (editor.line, mode, self.mentions) }
        mode = .edit(eventId: eventId)
        self.mentions = mentions
        textMessage = text
    }

    /// Restores a message that could not be sent.
    ///
    /// - Returns: False if the composer has new text: the message then has to wait.
    public func giveBack(_ text: String, _ mode: Mode, mentions: [MXMention] = []) -> Bool {
        guard editor.line.isEmpty, self.mode == .message else { return false }
        (self.mode, self.mentions) = (mode, mentions)
        textMessage = text
        return true
    }

    /// Restores the earlier text after a message was sent or cancelled.
    private func endMode() {
        let before = setAside
        (mode, setAside) = (.message, nil)
        if let before {
            (mode, mentions) = (before.mode, before.mentions)
            textMessage = before.text
        }
    }

    // MARK: Keys

    /// Handles a key.
    ///
    /// - Returns: False if the key has no meaning here.
    open func handle(_ input: TerminalInput) -> Bool {
        let hadText = !editor.line.isEmpty
        hint = nil
        defer {
            let hasText = !editor.line.isEmpty
            if hasText != hadText || (hasText && input.isText) {
                delegate?.roomInputToolbarView(self, isTyping: hasText && !editor.line.hasPrefix("/"))
            }
        }
        switch input {
        case .tab: return complete(by: 1)
        case .key(.tab, .shift): return complete(by: -1)
        case .escape:
            if choice != nil {
                takeBackCompletion()
                return true
            }
            guard mode != .message else { return false }
            if case .edit = mode { editor.replace(before: "") }
            endMode()
            return true
        default: break
        }
        (choice, inserted) = (nil, "")
        switch editor.handle(input) {
        case .entered(let text):
            guard text.contains(where: { !$0.isWhitespace }) else { return true }
            let sent = mode
            delegate?.roomInputToolbarView(self, sendTextMessage: text)
            // A refused command may be back in the line, or a command may have started a reply.
            if editor.line.isEmpty, mode == sent {
                mentions = []
                endMode()
            }
            return true
        case .edited, .dropped: return true
        case .warned, .ended, .suspended, .cleared, .listed, .refused: return false
        }
    }

    // MARK: Completion

    private func complete(by step: Int) -> Bool {
        if var current = choice {
            current.index = (current.index + step + current.candidates.count) % current.candidates.count
            choice = current
        } else {
            let word = String(editor.before.reversed().prefix { !$0.isWhitespace }.reversed())
            guard !word.isEmpty else { return false }
            let candidates = Array(completions(editor.before).prefix(50))
            guard !candidates.isEmpty else { return false }
            choice = (candidates, step > 0 ? 0 : candidates.count - 1, word)
        }
        guard let current = choice else { return false }
        guard current.candidates.indices.contains(current.index) else { return false }
        let candidate = current.candidates[current.index]
        replaceWord(with: candidate.insertion)
        if let mention = candidate.mention { add(mention) }
        return true
    }

    private var inserted = ""

    private func replaceWord(with text: String) {
        let before =
            inserted.isEmpty
            ? String(editor.before.dropLast(choice?.start.count ?? 0)) : String(editor.before.dropLast(inserted.count))
        inserted = text
        editor.replace(before: before + text, after: editor.after)
        if choice?.candidates.count == 1 {
            choice = nil
            inserted = ""
        }
    }

    private func takeBackCompletion() {
        guard let current = choice else { return }
        replaceWord(with: current.start)
        (choice, inserted) = (nil, "")
    }

    // MARK: Drawing

    /// Returns the number of rows needed at this width.
    open func height(columns: Int, profile: WidthProfile = .unicode) -> Int {
        let text = layout(columns: columns, profile: profile)
        return min(text.lines.count, Self.maximumLines) + (banner == nil && hint == nil ? 0 : 1) + shownCandidates.count
    }

    private var shownCandidates: ArraySlice<MXKCompletion> {
        guard let choice, choice.candidates.count > 1 else { return [] }
        let start = max(
            0, min(choice.index - Self.maximumCandidates / 2, choice.candidates.count - Self.maximumCandidates))
        return choice.candidates[start..<min(start + Self.maximumCandidates, choice.candidates.count)]
    }

    private var banner: String? {
        switch mode {
        case .message: nil
        case .reply(eventId: _, let name): "Reply to \(name) — Esc cancels"
        case .edit: "Edit — Esc cancels"
        }
    }

    /// Draws the composer and its cursor into a surface of this width.
    open func draw(columns: Int, theme: MXKTheme, profile: WidthProfile = .unicode) -> TerminalSurface {
        let rows = height(columns: columns, profile: profile)
        var surface = TerminalSurface(TerminalSize(columns: columns, rows: rows))
        var row = 0
        for (index, candidate) in zip(shownCandidates.indices, shownCandidates) {
            let isChosen = index == choice?.index
            let style = isChosen ? theme.style(.selection) : theme.style(.hint)
            surface.draw(StyledText(ScreenText.cleanedName(candidate.shown), style), row: row)
            row += 1
        }
        if let hint {
            surface.draw(StyledText(ScreenText.cleanedName(hint), theme.style(.warning)), row: row)
            row += 1
        } else if let banner {
            surface.draw(StyledText(ScreenText.cleanedName(banner), theme.style(.hint)), row: row)
            row += 1
        }
        let text = layout(columns: columns, profile: profile)
        let first = min(max(text.cursor.row - Self.maximumLines + 1, 0), max(text.lines.count - Self.maximumLines, 0))
        for (index, line) in text.lines[first...].prefix(Self.maximumLines).enumerated() {
            surface.draw(line.fitted(to: columns), row: row + index)
        }
        if editor.line.isEmpty {
            surface.draw(StyledText("> " + placeholder, theme.style(.hint)), row: row)
        }
        surface.cursor = .init(column: text.cursor.column, row: row + text.cursor.row - first)
        return surface
    }

    private func layout(
        columns: Int, profile: WidthProfile
    ) -> (lines: [TerminalLine], cursor: TerminalSurface.Position) {
        let layout = TextLayout(columns: columns, profile)
        let lines = layout.lines(StyledText(ScreenText.cleaned(editor.line)), first: "> ", rest: "  ")
        // The cursor follows the last line of the text before it, or moves to the next line past the last column.
        let before = layout.lines(StyledText(ScreenText.cleaned(editor.before) + "\u{2060}"), first: "> ", rest: "  ")
        var cursor = TerminalSurface.Position(column: before.last?.columns ?? 2, row: before.count - 1)
        var shown = lines
        if cursor.column >= columns {
            cursor = .init(column: min(2, columns - 1), row: cursor.row + 1)
            if cursor.row >= shown.count { shown.append(TerminalLine("  ", profile)) }
        }
        while cursor.row >= shown.count { shown.append(TerminalLine("  ", profile)) }
        return (shown, cursor)
    }
}

/// A completion of a word.
public struct MXKCompletion: Hashable, Sendable {
    /// The text that replaces the word.
    public var insertion: String
    /// The text shown in the list.
    public var shown: String
    /// The user to mention; `nil` if there is none.
    public var mention: MXMention?

    /// Creates a completion, shown as its insertion by default.
    public init(_ insertion: String, shown: String? = nil, mention: MXMention? = nil) {
        (self.insertion, self.mention) = (insertion, mention)
        self.shown = shown ?? insertion
    }
}

extension TerminalInput {
    fileprivate var isText: Bool {
        switch self {
        case .text, .paste: true
        case .key, .mouse, .focus, .resize, .reply, .unknown: false
        }
    }
}
