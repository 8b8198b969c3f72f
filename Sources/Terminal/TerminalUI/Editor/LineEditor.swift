/// An editor for a line, or a text of several lines, as a value: input in, effects out. It is independent of the
/// terminal.
///
/// The keys are those of readline with its default bindings. In a text of several lines, Alt-Enter, Shift-Enter and
/// Ctrl-J start a new line, up and down move between lines, and pasted text keeps its lines.
public struct LineEditor: Sendable {
    /// The form of the edited text.
    public enum Form: Sendable {
        case oneLine
        case severalLines
    }

    /// The effect of a key in addition to changing the line.
    public enum Effect: Hashable, Sendable {
        /// None; the line may have changed.
        case edited
        /// The line was entered; the next one is empty.
        case entered(String)
        /// Ctrl-C discarded the line.
        case dropped
        /// Ctrl-C was pressed on an empty line, for the first time.
        case warned
        /// Input ended: Ctrl-D, or Ctrl-C twice.
        case ended
        /// Ctrl-Z.
        case suspended
        /// Ctrl-L.
        case cleared
        /// Tab, with several matching words.
        case listed([String])
        /// The key has no effect here.
        case refused
    }

    private enum Mode: Sendable {
        case typing
        case searching(LineSearch)
    }

    private enum KillDirection {
        case forward
        case backward
    }

    private struct Version: Hashable, Sendable {
        let before: String
        let after: String
    }

    /// The maximum size in bytes of UTF-8. Input that would exceed it is refused.
    public static let maximumSize = 64 << 10
    private static let maximumVersions = 100
    /// The maximum size of all versions together, in bytes of UTF-8.
    private static let maximumVersionsSize = 1 << 20

    /// The part of the line before the cursor.
    public private(set) var before = ""
    /// The part of the line after the cursor.
    public private(set) var after = ""
    /// The entered lines, which up and Ctrl-R bring back.
    public private(set) var history: LineHistory
    private let form: Form
    /// Earlier versions of the line, for Ctrl-_.
    private var versions: [Version] = []
    /// Whether a run of typed letters, which counts as one change, is in progress.
    private var isTyping = false
    private var mode = Mode.typing
    /// The index of the displayed history line; the history's count for the new line.
    private var position: Int
    /// The new line, while a line of the history is displayed.
    private var draft = ""
    private var killed = ""
    /// Whether the last key killed text. Another kill then adds to it.
    private var isKilling = false
    private var isWarned = false

    /// Creates an editor with an empty line.
    public init(history: LineHistory = LineHistory(), form: Form = .oneLine) {
        self.history = history
        self.form = form
        position = history.lines.count
    }

    /// The whole line.
    public var line: String { before + after }

    /// The search prompt, replacing the normal one; nil unless a search is in progress.
    public var searchPrompt: String? {
        guard case .searching(let search) = mode else { return nil }
        return search.prompt
    }

    /// Replaces the line, for example to resume a draft. Can be undone.
    public mutating func replace(before: String, after: String = "") {
        remember(Version(before: self.before, after: self.after))
        (self.before, self.after) = (fit(before), fit(after))
        position = history.lines.count
        mode = .typing
    }

    /// - Parameter complete: Completes the text before the cursor.
    public mutating func handle(
        _ key: TerminalInput, complete: (String) -> Completion = { Completion(text: $0) }
    ) -> Effect {
        let old = Version(before: before, after: after)
        let effect = apply(key, complete: complete)
        if line != old.before + old.after, key != Self.undo {
            if !isTyping || !Self.types(key) { remember(old) }
            isTyping = Self.types(key)
        } else if !Self.types(key) {
            isTyping = false
        }
        return effect
    }

    private mutating func apply(_ key: TerminalInput, complete: (String) -> Completion) -> Effect {
        defer {
            if !Self.kills(key) { isKilling = false }
            if key != .control("c") { isWarned = false }
        }
        if case .searching(let search) = mode, let effect = handle(key, in: search) { return effect }
        switch key {
        case .text(let text), .paste(let text): return insert(text)
        case .enter: return enter()
        case .control("j"): return form == .severalLines ? insert("\n") : enter()
        case .key(.enter, .alt), .key(.enter, .shift): return form == .severalLines ? insert("\n") : .refused
        case .tab: return take(complete(before))
        case Self.undo: return takeBack()
        case .backspace, .control("h"): return change { _ = $0.before.popLast() }
        case .delete: return change { if !$0.after.isEmpty { $0.after.removeFirst() } }
        case .left, .control("b"): return change { $0.moveBack(while: Self.once()) }
        case .right, .control("f"): return change { $0.moveAhead(while: Self.once()) }
        case .home, .control("a"): return change { $0.moveBack(while: Self.isInLine) }
        case .end, .control("e"): return change { $0.moveAhead(while: Self.isInLine) }
        case .alt("b"), .key(.left, .control), .key(.left, .alt): return change { $0.moveBack(while: Self.word()) }
        case .alt("f"), .key(.right, .control), .key(.right, .alt): return change { $0.moveAhead(while: Self.word()) }
        case .up, .control("p"): return before.contains("\n") ? moveUp() : show(position - 1)
        case .down, .control("n"): return after.contains("\n") ? moveDown() : show(position + 1)
        case .alt("d"): return kill(.forward) { $0.moveAhead(while: Self.word()) }
        case .key(.backspace, .alt): return kill(.backward) { $0.moveBack(while: Self.word()) }
        case .key(.character(let letter), .control): return handle(control: letter)
        case .key, .mouse, .focus, .resize, .reply, .unknown: return .refused
        }
    }

    private static let undo = TerminalInput.control("_")

    private static func types(_ key: TerminalInput) -> Bool {
        if case .text = key { true } else { false }
    }

    private mutating func remember(_ version: Version) {
        versions.append(version)
        var size = versions.reduce(0) { $0 + $1.before.utf8.count + $1.after.utf8.count }
        while versions.count > Self.maximumVersions || size > Self.maximumVersionsSize {
            let oldest = versions.removeFirst()
            size -= oldest.before.utf8.count + oldest.after.utf8.count
        }
    }

    private mutating func takeBack() -> Effect {
        guard let version = versions.popLast() else { return .refused }
        (before, after) = (version.before, version.after)
        return .edited
    }

    private mutating func handle(control letter: Character) -> Effect {
        switch letter {
        case "c": return interrupt()
        case "d":
            if line.isEmpty { return .ended }
            return change { if !$0.after.isEmpty { $0.after.removeFirst() } }
        case "k": return kill(.forward) { $0.moveAhead(while: $0.after.first == "\n" ? Self.once() : Self.isInLine) }
        case "u": return kill(.backward) { $0.moveBack(while: $0.before.last == "\n" ? Self.once() : Self.isInLine) }
        case "w": return kill(.backward) { $0.moveBack(while: Self.word { !$0.isWhitespace }) }
        case "y": return killed.isEmpty ? .refused : insert(killed)
        case "t": return transpose()
        case "l": return .cleared
        case "r":
            mode = .searching(LineSearch(line: line, cursor: before.count, end: history.lines.count))
            return .edited
        case "z": return .suspended
        default: return .refused
        }
    }

    // MARK: Changing the line

    private mutating func change(_ body: (inout Self) -> Void) -> Effect {
        let old = (before, after)
        body(&self)
        joinSequences()
        return old == (before, after) ? .refused : .edited
    }

    /// Joins text on both sides of the cursor that is now one character: a letter with its mark, a flag.
    private mutating func joinSequences() {
        guard let last = before.last, let first = after.first else { return }
        guard (String(last) + String(first)).count == 1 else { return }
        before.removeLast()
        after.removeFirst()
        before += String(last) + String(first)
    }

    private mutating func insert(_ text: String) -> Effect {
        let text = fit(text)
        guard !text.isEmpty, line.utf8.count + text.utf8.count <= Self.maximumSize else { return .refused }
        return change { $0.before += text }
    }

    /// Adapts breaks to the form, replaces tabs by spaces, and removes other control characters. In a single line, also
    /// removes a break at the end of pasted text.
    private func fit(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        var wasReturn = false
        for scalar in text.unicodeScalars {
            defer { wasReturn = scalar == "\r" }
            switch scalar {
            case "\n" where wasReturn: continue
            case "\n", "\r", "\u{2028}", "\u{2029}": scalars.append(form == .severalLines ? "\n" : " ")
            case "\t": scalars.append(" ")
            case _ where scalar.properties.generalCategory == .control: continue
            default: scalars.append(scalar)
            }
        }
        let hasBreakAtEnd = form == .oneLine && text.last?.isNewline == true
        return String(hasBreakAtEnd ? String.UnicodeScalarView(scalars.dropLast()) : scalars)
    }

    private mutating func moveBack(while goesOn: (Character) -> Bool) {
        let start = before.lastIndex { !goesOn($0) }.map { before.index(after: $0) } ?? before.startIndex
        after = before[start...] + after
        before = String(before[..<start])
    }

    private mutating func moveAhead(while goesOn: (Character) -> Bool) {
        let end = after.firstIndex { !goesOn($0) } ?? after.endIndex
        before += after[..<end]
        after = String(after[end...])
    }

    /// Matches characters up to the next word and then to its end.
    private static func word(
        _ belongs: @escaping (Character) -> Bool = { $0.isLetter || $0.isNumber }
    ) -> (Character) -> Bool {
        var isInWord = false
        return { character in
            if belongs(character) { isInWord = true } else if isInWord { return false }
            return true
        }
    }

    private static func isInLine(_ character: Character) -> Bool { character != "\n" }

    private mutating func moveUp() -> Effect {
        change { editor in
            let column = editor.before.reversed().prefix(while: Self.isInLine).count
            editor.moveBack(while: Self.isInLine)
            editor.moveBack(while: Self.once())
            let length = editor.before.reversed().prefix(while: Self.isInLine).count
            editor.moveBack(while: Self.first(max(length - column, 0)))
        }
    }

    private mutating func moveDown() -> Effect {
        change { editor in
            let column = editor.before.reversed().prefix(while: Self.isInLine).count
            editor.moveAhead(while: Self.isInLine)
            editor.moveAhead(while: Self.once())
            var left = column
            editor.moveAhead { character in
                defer { left -= 1 }
                return left > 0 && Self.isInLine(character)
            }
        }
    }

    private static func first(_ count: Int) -> (Character) -> Bool {
        var left = count
        return { _ in
            defer { left -= 1 }
            return left > 0
        }
    }

    private static func once() -> (Character) -> Bool { first(1) }

    private mutating func transpose() -> Effect {
        change { editor in
            // At the end of the line, swaps the two characters before the cursor; otherwise those on both sides of it.
            if editor.after.isEmpty, editor.before.count > 1 { editor.after = String(editor.before.removeLast()) }
            guard let left = editor.before.popLast() else { return }
            guard let right = editor.after.first else {
                editor.before.append(left)
                return
            }
            editor.after.removeFirst()
            editor.before += String(right) + String(left)
        }
    }

    // MARK: Killing

    private static func kills(_ key: TerminalInput) -> Bool {
        [.control("k"), .control("u"), .control("w"), .alt("d"), .key(.backspace, .alt)].contains(key)
    }

    /// - Parameter move: Moves the cursor over the text to kill.
    private mutating func kill(_ direction: KillDirection, _ move: (inout Self) -> Void) -> Effect {
        var moved = self
        move(&moved)
        let gone: String
        switch direction {
        case .forward:
            gone = String(moved.before.dropFirst(before.count))
            after = moved.after
        case .backward:
            gone = String(before.dropFirst(moved.before.count))
            before = moved.before
        }
        guard !gone.isEmpty else { return .refused }
        switch direction {
        case .forward: killed = isKilling ? killed + gone : gone
        case .backward: killed = isKilling ? gone + killed : gone
        }
        isKilling = true
        joinSequences()
        return .edited
    }

    // MARK: Lines

    private mutating func enter() -> Effect {
        let entered = line
        history.add(entered)
        replaceLine("")
        position = history.lines.count
        draft = ""
        versions = []
        return .entered(entered)
    }

    private mutating func interrupt() -> Effect {
        if line.isEmpty {
            defer { isWarned = true }
            return isWarned ? .ended : .warned
        }
        replaceLine("")
        position = history.lines.count
        return .dropped
    }

    private mutating func replaceLine(_ line: String) {
        (before, after) = (line, "")
    }

    private mutating func show(_ index: Int) -> Effect {
        guard (0...history.lines.count).contains(index) else { return .refused }
        if position == history.lines.count { draft = line }
        position = index
        replaceLine(index == history.lines.count ? draft : history.lines[index])
        return .edited
    }

    private mutating func take(_ completion: Completion) -> Effect {
        if completion.text != before {
            guard completion.text.utf8.count + after.utf8.count <= Self.maximumSize else { return .refused }
            return change { $0.before = completion.text }
        }
        return completion.candidates.isEmpty ? .refused : .listed(completion.candidates)
    }

    // MARK: Searching

    /// Returns nil if the key ends the search and applies to the line.
    private mutating func handle(_ key: TerminalInput, in search: LineSearch) -> Effect? {
        var search = search
        switch key {
        case .text(let text), .paste(let text): search.type(fit(text), in: history)
        case .backspace, .control("h"): search.eraseLast(in: history)
        case .control("r"): search.older(in: history)
        case .control("g"), .control("c"), .escape:
            mode = .typing
            before = String(search.line.prefix(search.cursor))
            after = String(search.line.dropFirst(search.cursor))
            return .edited
        case .mouse, .focus, .resize, .reply, .unknown: return .refused
        case .key:
            mode = .typing
            if let match = search.match {
                if position == history.lines.count { draft = search.line }
                position = match
            }
            return nil
        }
        mode = .searching(search)
        if let match = search.match { replaceLine(history.lines[match]) }
        return search.isFailing ? .refused : .edited
    }
}
