import Foundation
public import MatrixProtocol
public import TerminalUI

/// Told what was written.
@MainActor
public protocol MXKRoomInputToolbarViewDelegate: AnyObject {
    /// A message was entered.
    func roomInputToolbarView(_ toolbarView: MXKRoomInputToolbarView, sendTextMessage text: String)
    /// The user began to write, or stopped.
    func roomInputToolbarView(_ toolbarView: MXKRoomInputToolbarView, isTyping: Bool)
}

extension MXKRoomInputToolbarViewDelegate {
    /// Nothing.
    public func roomInputToolbarView(_ toolbarView: MXKRoomInputToolbarView, isTyping: Bool) {}
}

/// Where messages are written: it grows with the text, and completes names and commands.
@MainActor
open class MXKRoomInputToolbarView {
    /// What a message is going to be.
    public enum Mode: Hashable, Sendable {
        /// A new one.
        case message
        /// An answer to an event.
        case reply(eventId: String, to: String)
        /// Another version of an event.
        case edit(eventId: String)
    }

    /// Lines of the text on the screen; more scroll.
    public static let maximumLines = 8
    private static let maximumCandidates = 8

    /// Told what was written.
    public weak var delegate: (any MXKRoomInputToolbarViewDelegate)?
    /// Shown as long as there is no text.
    public var placeholder = "Message"
    /// What the message is going to be.
    public var mode = Mode.message
    /// Users whom the text may name, by completion say. Whoever sends it looks who is still in it.
    public private(set) var mentions: [MXMention] = []
    /// What went wrong, or how a command is used. It goes with the next key.
    public var hint: String?
    /// What the word before the cursor can become.
    public var completions: (String) -> [MXKCompletion] = { _ in [] }

    private var editor = LineEditor(form: .severalLines)
    private var choice: (candidates: [MXKCompletion], index: Int, start: String)?

    /// An empty one.
    public init() {}

    /// What is written.
    public var textMessage: String {
        get { editor.line }
        set {
            editor.replace(before: newValue)
            (choice, inserted) = (nil, "")
        }
    }

    /// Writes the name of a user, who is mentioned then.
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

    // MARK: What is not sent

    /// What was written before another message was changed, which comes back when that is done.
    private var setAside: (text: String, mode: Mode, mentions: [MXMention])?

    /// What the user has begun to write, without what an edit is going to be.
    public var draft: String {
        if case .edit = mode { return setAside?.text ?? "" }
        return editor.line
    }

    /// Forgets everything, and begins with this text: another room is shown.
    public func begin(with text: String) {
        (mode, setAside, mentions) = (.message, nil, [])
        textMessage = text
    }

    /// The next message takes the place of another. What is written is there again afterwards.
    ///
    /// - Parameter mentions: Users whom the other message names.
    public func beginEdit(of eventId: String, text: String, mentions: [MXMention] = []) {
        if case .edit = mode {} else { setAside = (editor.line, mode, self.mentions) }
        mode = .edit(eventId: eventId)
        self.mentions = mentions
        textMessage = text
    }

    /// What was sent comes back, because it could not be.
    ///
    /// - Returns: False if something else is written meanwhile: then it has to wait.
    public func giveBack(_ text: String, _ mode: Mode, mentions: [MXMention] = []) -> Bool {
        guard editor.line.isEmpty, self.mode == .message else { return false }
        (self.mode, self.mentions) = (mode, mentions)
        textMessage = text
        return true
    }

    /// The message is sent, or given up: what was written before is there again.
    private func endMode() {
        let before = setAside
        (mode, setAside) = (.message, nil)
        if let before {
            (mode, mentions) = (before.mode, before.mentions)
            textMessage = before.text
        }
    }

    // MARK: Keys

    /// Takes what was typed.
    ///
    /// - Returns: False if it means nothing here.
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
            // A command may have been refused, and is there again, or has begun an answer.
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

    /// Rows that it takes in so many columns.
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

    /// Draws it into a surface of this width, with the cursor.
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
        // The cursor stands behind the last line of what is before it; a column further is the next line.
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

/// What a word can become.
public struct MXKCompletion: Hashable, Sendable {
    /// What takes the place of the word.
    public var insertion: String
    /// What the list says.
    public var shown: String
    /// Whom it mentions; nil for nobody.
    public var mention: MXMention?

    /// A word, shown as it is unless told otherwise.
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
