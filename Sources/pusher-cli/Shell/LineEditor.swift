/// A line that somebody edits, as a value: keys in, what is to be done out. It knows nothing of the terminal.
///
/// The keys are those of readline with its usual bindings.
struct LineEditor: Sendable {
    /// What a key asks for beside the change of the line.
    enum Effect: Hashable, Sendable {
        /// Nothing more: the line may have changed.
        case edited
        /// The line was entered; the next one is empty.
        case entered(String)
        /// Ctrl-C threw the line away.
        case dropped
        /// Ctrl-C on an empty line, for the first time.
        case warned
        /// There will be no more lines: Ctrl-D, or Ctrl-C twice.
        case ended
        /// Ctrl-Z.
        case suspended
        /// Ctrl-L.
        case cleared
        /// Tab, where more than one word fits.
        case listed([String])
        /// The key can do nothing here.
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

    /// In bytes of UTF-8. What would make the line longer is refused.
    static let maximumSize = 64 << 10

    /// The line before the cursor and after it.
    private(set) var before = ""
    private(set) var after = ""
    private(set) var history: LineHistory
    private var mode = Mode.typing
    /// The line of the history that is shown; its count for the line that is new.
    private var position: Int
    /// The new line, while one of the history is shown.
    private var draft = ""
    private var killed = ""
    /// Killing on in a row adds to what was killed.
    private var isKilling = false
    private var isWarned = false

    init(history: LineHistory = LineHistory()) {
        self.history = history
        position = history.lines.count
    }

    var line: String { before + after }

    /// The search's words in place of the prompt; nil while none is under way.
    var searchPrompt: String? {
        guard case .searching(let search) = mode else { return nil }
        return search.prompt
    }

    /// - Parameter complete: Completes what stands before the cursor.
    mutating func handle(_ key: Key, complete: (String) -> Completion = { Completion(text: $0) }) -> Effect {
        defer {
            if !Self.kills(key) { isKilling = false }
            if key != .control("c") { isWarned = false }
        }
        if case .searching(let search) = mode, let effect = handle(key, in: search) { return effect }
        switch key {
        case .text(let text), .paste(let text): return insert(text)
        case .enter: return enter()
        case .tab: return apply(complete(before))
        case .backspace, .control("h"): return change { _ = $0.before.popLast() }
        case .delete: return change { if !$0.after.isEmpty { $0.after.removeFirst() } }
        case .left, .control("b"): return change { $0.moveBack(while: Self.once()) }
        case .right, .control("f"): return change { $0.moveAhead(while: Self.once()) }
        case .home, .control("a"): return change { $0.moveBack { _ in true } }
        case .end, .control("e"): return change { $0.moveAhead { _ in true } }
        case .alt("b"): return change { $0.moveBack(while: Self.word()) }
        case .alt("f"): return change { $0.moveAhead(while: Self.word()) }
        case .up, .control("p"): return show(position - 1)
        case .down, .control("n"): return show(position + 1)
        case .control(let letter): return handle(control: letter)
        case .alt("d"): return kill(.forward) { $0.moveAhead(while: Self.word()) }
        case .alt("\u{7F}"): return kill(.backward) { $0.moveBack(while: Self.word()) }
        case .alt, .escape, .other: return .refused
        }
    }

    private mutating func handle(control letter: Character) -> Effect {
        switch letter {
        case "c": return interrupt()
        case "d":
            if line.isEmpty { return .ended }
            return change { if !$0.after.isEmpty { $0.after.removeFirst() } }
        case "k": return kill(.forward) { $0.moveAhead { _ in true } }
        case "u": return kill(.backward) { $0.moveBack { _ in true } }
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

    /// A change that changes nothing is refused.
    private mutating func change(_ body: (inout Self) -> Void) -> Effect {
        let old = (before, after)
        body(&self)
        joinSequences()
        return old == (before, after) ? .refused : .edited
    }

    /// What stands on both sides of the cursor may be one character now: a letter with its mark, a flag.
    private mutating func joinSequences() {
        guard let last = before.last, let first = after.first else { return }
        guard (String(last) + String(first)).count == 1 else { return }
        before.removeLast()
        after.removeFirst()
        before += String(last) + String(first)
    }

    private mutating func insert(_ text: String) -> Effect {
        let text = Self.fit(text)
        guard !text.isEmpty, line.utf8.count + text.utf8.count <= Self.maximumSize else { return .refused }
        return change { $0.before += text }
    }

    /// One line of it: breaks and tabs are spaces, and other control characters are left out. A break at the end of what
    /// is pasted is left out too.
    private static func fit(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        var wasReturn = false
        for scalar in text.unicodeScalars {
            defer { wasReturn = scalar == "\r" }
            switch scalar {
            case "\n" where wasReturn: continue
            case "\n", "\r", "\t", "\u{2028}", "\u{2029}": scalars.append(" ")
            case _ where scalar.properties.generalCategory == .control: continue
            default: scalars.append(scalar)
            }
        }
        let hasBreakAtEnd = text.last?.isNewline == true
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

    /// As long as no word has begun, and then to its end.
    private static func word(
        _ belongs: @escaping (Character) -> Bool = { $0.isLetter || $0.isNumber }
    ) -> (Character) -> Bool {
        var isInWord = false
        return { character in
            if belongs(character) { isInWord = true } else if isInWord { return false }
            return true
        }
    }

    private static func once() -> (Character) -> Bool {
        var isFirst = true
        return { _ in
            defer { isFirst = false }
            return isFirst
        }
    }

    private mutating func transpose() -> Effect {
        change { editor in
            // At the end, the two before the cursor; else those on both sides of it.
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

    private static func kills(_ key: Key) -> Bool {
        [.control("k"), .control("u"), .control("w"), .alt("d"), .alt("\u{7F}")].contains(key)
    }

    /// - Parameter move: Moves the cursor over what is to go.
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

    private mutating func apply(_ completion: Completion) -> Effect {
        if completion.text != before {
            guard completion.text.utf8.count + after.utf8.count <= Self.maximumSize else { return .refused }
            return change { $0.before = completion.text }
        }
        return completion.candidates.isEmpty ? .refused : .listed(completion.candidates)
    }

    // MARK: Searching

    /// Nil if the key ends the search and is one for the line.
    private mutating func handle(_ key: Key, in search: LineSearch) -> Effect? {
        var search = search
        switch key {
        case .text(let text), .paste(let text): search.type(Self.fit(text), in: history)
        case .backspace, .control("h"): search.eraseLast(in: history)
        case .control("r"): search.older(in: history)
        case .control("g"), .control("c"), .escape:
            mode = .typing
            before = String(search.line.prefix(search.cursor))
            after = String(search.line.dropFirst(search.cursor))
            return .edited
        case .enter, .tab, .delete, .left, .right, .up, .down, .home, .end, .control, .alt, .other:
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
