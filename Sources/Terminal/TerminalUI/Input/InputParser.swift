/// Parses a terminal's data into input: UTF-8, control characters, the ECMA-48 sequences of xterm and similar
/// terminals, bracketed pastes, mouse reports (SGR and the old form), kitty's keys, and replies.
///
/// A value without timers: the caller calls ``flush()`` when nothing has followed for a while. A sequence never becomes
/// text, whether it is known or not, complete or truncated.
public struct InputParser: Sendable {
    /// The maximum length of a sequence. Longer ones than any key sends are skipped.
    private static let maximumSequence = 64
    /// The maximum size in bytes of a string in a terminal's reply. The rest is discarded.
    private static let maximumString = 4096
    /// The maximum size of a paste in bytes. The rest is discarded.
    private static let maximumPaste = 1 << 20
    private static let pasteEnd = Array("\u{1B}[201~".utf8)
    /// Ctrl-C as it is usually sent, and in kitty's protocol.
    private static let interrupts = [[0x03], Array("\u{1B}[99;5u".utf8)]

    private enum State: Sendable {
        case ground
        /// In a bracketed paste.
        case pasting
        /// In an abandoned or oversized paste, which must not continue as typed text, since that could send itself.
        case passingPaste
        /// In a string that began with `ESC` and this byte.
        case inString(UInt8)
        /// In a control sequence that is too long, or whose beginning was read as a key.
        case inLostSequence
    }

    private var state = State.ground
    private var pending: [UInt8] = []
    /// The data of a paste or string so far.
    private var kept: [UInt8] = []
    /// The number of requested cursor reports. They look like F3 with a modifier.
    private var awaitedReports: Int

    private enum Step {
        case input(TerminalInput, length: Int)
        case begins(State, length: Int)
        /// The data may be the beginning of several keys.
        case incomplete
    }

    /// Creates a parser that expects the first byte.
    ///
    /// - Parameter awaitedReports: The number of requested cursor positions in the first row. `CSI 1 ; 2 R` is also
    ///   Shift with F3.
    public init(awaitedReports: Int = 0) { self.awaitedReports = awaitedReports }

    /// The time to wait for more before calling ``flush()``; nil if that would return nothing. Other keys begin with
    /// the bytes of the Escape key, and a paste or a reply may never end.
    public var patience: Duration? {
        switch state {
        case .ground: pending.isEmpty ? nil : .milliseconds(50)
        case .pasting: .seconds(1)
        case .passingPaste: .milliseconds(200)
        // `ESC ]` is also Alt with a bracket.
        case .inString: kept.isEmpty && pending.isEmpty ? .milliseconds(50) : .seconds(1)
        case .inLostSequence: .seconds(1)
        }
    }

    /// Parses data and returns the complete input.
    public mutating func parse(_ bytes: some Sequence<UInt8>) -> [TerminalInput] {
        pending += bytes
        var (inputs, start) = ([TerminalInput](), 0)
        func add(_ input: TerminalInput) {
            if case .text(let more) = input, case .text(let text) = inputs.last {
                inputs[inputs.count - 1] = .text(text + more)
            } else {
                inputs.append(input)
            }
        }
        scan: while start < pending.count {
            switch state {
            case .ground:
                switch step(pending[start...]) {
                case .input(let input, let length):
                    add(input)
                    start += length
                case .begins(let next, let length):
                    state = next
                    start += length
                case .incomplete: break scan
                }
            case .pasting:
                let (end, isOver) = endOfPaste(from: start)
                if !isOver, let count = interruptsAtEnd(from: start) {
                    kept = []
                    state = .passingPaste
                    (start, inputs) = (pending.count, inputs + repeatElement(.control("c"), count: count))
                    break scan
                }
                keep(pending[start..<end], limit: Self.maximumPaste)
                start = isOver ? end + Self.pasteEnd.count : end
                let isFull = kept.count >= Self.maximumPaste
                guard isOver || isFull else { break scan }
                add(.paste(String(decoding: leave(), as: UTF8.self)))
                if !isOver { state = .passingPaste }
            case .passingPaste:
                let (end, isOver) = endOfPaste(from: start)
                if !isOver, let count = interruptsAtEnd(from: start) {
                    (start, inputs) = (pending.count, inputs + repeatElement(.control("c"), count: count))
                    break scan
                }
                start = isOver ? end + Self.pasteEnd.count : end
                guard isOver else { break scan }
                state = .ground
            case .inString(let kind):
                if kept.isEmpty, !Self.begins(kind, pending[start]) {
                    state = .ground
                    add(Self.alt(kind))
                    continue
                }
                // Ends with BEL or `ESC \`; any other control character is separate input.
                guard let end = pending[start...].firstIndex(where: { $0 < 0x20 }) else {
                    keep(pending[start...], limit: Self.maximumString)
                    start = pending.count
                    break scan
                }
                keep(pending[start..<end], limit: Self.maximumString)
                start = end
                if pending[end] == 0x1B, end + 1 == pending.count { break scan }
                let isString = pending[end] == 0x07 || pending[end] == 0x1B && pending[end + 1] == UInt8(ascii: "\\")
                if isString { start = end + (pending[end] == 0x07 ? 1 : 2) }
                add(Self.reply(kind, leave()))
            case .inLostSequence:
                let end = pending[start...].firstIndex { !(0x20..<0x40).contains($0) }
                start = end ?? pending.count
                guard let end else { break scan }
                if (0x40..<0x7F).contains(pending[end]) { start = end + 1 }
                state = .ground
                add(.unknown)
            }
        }
        pending.removeFirst(start)
        return inputs
    }

    /// Returns the pending input, because nothing has followed for a while.
    public mutating func flush() -> [TerminalInput] {
        guard patience != nil else { return [] }
        let (state, pending, kept) = (state, pending, kept)
        (self.state, self.pending, self.kept) = (.ground, [], [])
        switch state {
        case .pasting: return [.paste(String(decoding: kept + pending, as: UTF8.self))]
        case .inString(let kind): return kept.isEmpty && pending.isEmpty ? [Self.alt(kind)] : [.unknown]
        case .inLostSequence, .passingPaste: return []
        case .ground: break
        }
        switch pending.count {
        case 1 where pending[0] == 0x1B: return [.escape]
        case 2 where pending[0] == 0x1B && pending[1] >= 0x21: return [Self.alt(pending[1])]
        default:
            // The rest may still arrive and must not become text.
            if pending.starts(with: [0x1B, UInt8(ascii: "[")]) { self.state = .inLostSequence }
            return [.unknown]
        }
    }

    private mutating func keep(_ bytes: ArraySlice<UInt8>, limit: Int) { kept += bytes.prefix(limit - kept.count) }

    private mutating func leave() -> [UInt8] {
        defer { (state, kept) = (.ground, []) }
        return kept
    }

    // MARK: Pastes and strings

    /// - Returns: The end of the paste, or of the part of it that is certain.
    private func endOfPaste(from start: Int) -> (end: Int, isOver: Bool) {
        let marker = Self.pasteEnd
        var index = start
        while let escape = pending[index...].firstIndex(of: marker[0]) {
            let rest = pending[escape...].prefix(marker.count)
            if rest.elementsEqual(marker) { return (escape, true) }
            if rest.count < marker.count, marker.starts(with: rest) { return (escape, false) }
            index = escape + 1
        }
        return (pending.count, false)
    }

    /// Returns the number of Ctrl-Cs at the end of the data read within a paste, or nil if there is none. The user
    /// pressed them, since a paste that contains Ctrl-C continues after it.
    private func interruptsAtEnd(from start: Int) -> Int? {
        for interrupt in Self.interrupts {
            var (rest, count) = (pending[start...], 0)
            while rest.suffix(interrupt.count).elementsEqual(interrupt) {
                rest = rest.dropLast(interrupt.count)
                count += 1
            }
            if count > 0 { return count }
        }
        return nil
    }

    /// Returns whether a terminal's reply can begin this way. Otherwise the user held the Alt key and typed something
    /// else after it.
    private static func begins(_ kind: UInt8, _ first: UInt8) -> Bool {
        switch kind {
        case UInt8(ascii: "]"): (0x30..<0x3A).contains(first) || "lL".utf8.contains(first)
        case UInt8(ascii: "P"): (0x30..<0x3A).contains(first) || ">!$+".utf8.contains(first)
        default: first == UInt8(ascii: "G")
        }
    }

    private static func reply(_ kind: UInt8, _ bytes: [UInt8]) -> TerminalInput {
        let text = String(decoding: bytes, as: UTF8.self)
        switch kind {
        case UInt8(ascii: "]"): return background(text).map(TerminalInput.reply) ?? .unknown
        case UInt8(ascii: "_"): return graphics(text).map(TerminalInput.reply) ?? .unknown
        default: return .unknown
        }
    }

    /// Parses `11;rgb:1e1e/1e1e/1e1e`, with one to four digits each.
    private static func background(_ text: String) -> TerminalReply? {
        guard text.hasPrefix("11;rgb:") else { return nil }
        let parts = text.dropFirst(7).split(separator: "/", omittingEmptySubsequences: false).map(component)
        guard parts.count == 3, let red = parts[0], let green = parts[1], let blue = parts[2] else { return nil }
        return .background(red: red, green: green, blue: blue)
    }

    private static func component(_ digits: Substring) -> UInt8? {
        guard (1...4).contains(digits.count), let value = UInt32(digits, radix: 16) else { return nil }
        let maximum = (UInt32(1) << (4 * UInt32(digits.count))) - 1
        return UInt8(value * 255 / maximum)
    }

    /// Parses `Gi=31;OK`.
    private static func graphics(_ text: String) -> TerminalReply? {
        guard text.hasPrefix("G") else { return nil }
        let halves = text.dropFirst().split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
        let id = halves[0].split(separator: ",").lazy.compactMap { field in
            field.hasPrefix("i=") ? Int(field.dropFirst(2)) : nil
        }.first
        return .graphics(id: id ?? 0, isOK: halves.last == "OK" && halves.count == 2)
    }

    // MARK: Keys

    private mutating func step(_ bytes: ArraySlice<UInt8>) -> Step {
        let first = bytes[bytes.startIndex]
        switch first {
        case 0x1B: return escapeSequence(bytes)
        case 0x0D: return .input(.enter, length: 1)
        case 0x09: return .input(.tab, length: 1)
        case 0x08, 0x7F: return .input(.backspace, length: 1)
        case 0x00: return .input(.control(" "), length: 1)
        case 0x01...0x1A: return .input(.control(Self.letter(first + 0x60)), length: 1)
        case 0x1C...0x1F: return .input(.control(Self.letter(first + 0x40)), length: 1)
        case 0x20..<0x7F: return .input(.text(String(Unicode.Scalar(first))), length: 1)
        default: return scalar(bytes)
        }
    }

    private static func letter(_ byte: UInt8) -> Character { Character(Unicode.Scalar(byte)) }

    private static func alt(_ byte: UInt8) -> TerminalInput {
        byte == 0x7F || byte == 0x08 ? .key(.backspace, .alt) : .alt(letter(byte))
    }

    private func scalar(_ bytes: ArraySlice<UInt8>) -> Step {
        let first = bytes[bytes.startIndex]
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        let sequence = bytes.prefix(length)
        let isContinued = sequence.dropFirst().allSatisfy { $0 & 0xC0 == 0x80 }
        if (0xC2...0xF4).contains(first), isContinued {
            if sequence.count < length { return .incomplete }
            if let text = String(validating: sequence, as: UTF8.self) {
                // C1 controls, which some terminals interpret as sequences.
                let isControl = text.unicodeScalars.allSatisfy { $0.value < 0xA0 }
                return .input(isControl ? .unknown : .text(text), length: length)
            }
        }
        return .input(.text("\u{FFFD}"), length: 1)
    }

    private mutating func escapeSequence(_ bytes: ArraySlice<UInt8>) -> Step {
        let start = bytes.startIndex
        guard bytes.count > 1 else { return .incomplete }
        switch bytes[start + 1] {
        case UInt8(ascii: "["): return controlSequence(bytes)
        case UInt8(ascii: "O"):
            guard bytes.count > 2 else { return .incomplete }
            return .input(Self.key(final: bytes[start + 2], modifiers: []), length: 3)
        // OSC, DCS, APC. No terminal replies with PM or SOS: those are Alt with `^` and `X`.
        case let kind where "]P_".utf8.contains(kind): return .begins(.inString(kind), length: 2)
        case 0x0D: return .input(.key(.enter, .alt), length: 2)
        case let byte where (0x21..<0x80).contains(byte) || byte == 0x08: return .input(Self.alt(byte), length: 2)
        default: return .input(.escape, length: 1)
        }
    }

    private mutating func controlSequence(_ bytes: ArraySlice<UInt8>) -> Step {
        let body = bytes.dropFirst(2)
        let found = body.firstIndex { !(0x20..<0x40).contains($0) }
        guard (found ?? body.endIndex) - body.startIndex <= Self.maximumSequence else {
            return .begins(.inLostSequence, length: 2)
        }
        guard let end = found else { return .incomplete }
        let length = end - bytes.startIndex + 1
        // Another sequence or a control character follows, which is separate input.
        guard (0x40..<0x7F).contains(bytes[end]) else { return .input(.unknown, length: length - 1) }
        let sequence = ControlSequence(parameters: bytes[body.startIndex..<end], final: bytes[end])
        switch (sequence.final, sequence.prefix) {
        case ("~", nil) where sequence[0] == 200: return .begins(.pasting, length: length)
        case ("M", nil) where sequence.values.isEmpty:
            // The old mouse report has three more bytes, which would become text. This form has no cells beyond 223.
            guard bytes.count >= length + 3 else { return .incomplete }
            return .input(.unknown, length: length + 3)
        default: return .input(input(sequence), length: length)
        }
    }

    private mutating func input(_ sequence: ControlSequence) -> TerminalInput {
        let input = Self.input(sequence)
        switch input {
        case .reply(.cursorPosition(let column, row: 0)) where (1...15).contains(column) && awaitedReports == 0:
            return Self.key(final: sequence.finalByte, modifiers: sequence.modifiers)
        case .reply(.cursorPosition): awaitedReports = max(awaitedReports - 1, 0)
        // The reply to the last query.
        case .reply(.attributes): awaitedReports = 0
        default: break
        }
        return input
    }

    private static func input(_ sequence: ControlSequence) -> TerminalInput {
        switch (sequence.final, sequence.prefix) {
        case ("M", "<"), ("m", "<"): return mouse(sequence).map(TerminalInput.mouse) ?? .unknown
        case ("I", nil): return .focus(true)
        case ("O", nil): return .focus(false)
        case ("c", "?"): return .reply(.attributes(sequence.values))
        case ("u", "?"): return .reply(.keyboardFlags(sequence[0] ?? 0))
        case ("y", "?") where sequence.values.count == 2:
            return .reply(.mode(sequence.values[0], isKnown: sequence.values[1] != 0 && sequence.values[1] != 4))
        case ("t", nil) where sequence.values.count == 3 && sequence[0] == 6:
            return .reply(.cellSize(width: sequence.values[2], height: sequence.values[1]))
        case ("R", nil) where sequence.values.count == 2:
            return .reply(.cursorPosition(column: sequence.values[1] - 1, row: sequence.values[0] - 1))
        case ("u", nil): return character(sequence[0], modifiers: sequence.modifiers)
        case ("~", nil) where sequence[0] == 27: return character(sequence[2], modifiers: sequence.modifiers)
        case ("~", nil): return key(number: sequence[0] ?? 0).map { .key($0, sequence.modifiers) } ?? .unknown
        case (_, nil): return key(final: sequence.finalByte, modifiers: sequence.modifiers)
        case (_, _?): return .unknown
        }
    }

    private static func mouse(_ sequence: ControlSequence) -> TerminalMouse? {
        guard sequence.values.count == 3, sequence.values[1] > 0, sequence.values[2] > 0 else { return nil }
        let code = sequence.values[0]
        var modifiers: TerminalModifiers = []
        if code & 4 != 0 { modifiers.insert(.shift) }
        if code & 8 != 0 { modifiers.insert(.alt) }
        if code & 16 != 0 { modifiers.insert(.control) }
        let action: TerminalMouse.Action
        switch (code & ~28, sequence.final) {
        case (64, _): action = .scrolledUp
        case (65, _): action = .scrolledDown
        case (32..<64, _): action = .moved
        case (0...2, "m"): action = .released(button: code & 3)
        case (0...2, _): action = .pressed(button: code & 3)
        case (_, _): return nil
        }
        return TerminalMouse(
            action, column: sequence.values[1] - 1, row: sequence.values[2] - 1, modifiers: modifiers)
    }

    private static func key(final: UInt8, modifiers: TerminalModifiers) -> TerminalInput {
        let key: TerminalKey
        switch Character(Unicode.Scalar(final)) {
        case "A": key = .up
        case "B": key = .down
        case "C": key = .right
        case "D": key = .left
        case "H": key = .home
        case "F": key = .end
        case "M": key = .enter
        case "P": key = .function(1)
        case "Q": key = .function(2)
        case "R": key = .function(3)
        case "S": key = .function(4)
        case "Z": return .key(.tab, modifiers.union(.shift))
        default: return .unknown
        }
        return .key(key, modifiers)
    }

    private static func key(number: Int) -> TerminalKey? {
        switch number {
        case 1, 7: .home
        case 2: .insert
        case 3: .delete
        case 4, 8: .end
        case 5: .pageUp
        case 6: .pageDown
        case 11...15: .function(number - 10)
        case 17...21: .function(number - 11)
        case 23...24: .function(number - 12)
        default: nil
        }
    }

    /// Returns a key by its character, as in kitty's protocol and xterm's `modifyOtherKeys`.
    private static func character(_ code: Int?, modifiers: TerminalModifiers) -> TerminalInput {
        switch code {
        case 13, 57414: return .key(.enter, modifiers)
        case 9: return .key(.tab, modifiers)
        case 27: return .key(.escape, modifiers)
        case 127, 8: return .key(.backspace, modifiers)
        case nil: return .unknown
        case let code?:
            // From 57344 on: keypad, media and lock keys.
            guard code >= 0x20, !(57344...63743).contains(code),
                let scalar = UInt32(exactly: code).flatMap(Unicode.Scalar.init),
                scalar.properties.generalCategory != .control
            else { return .unknown }
            let character = Character(scalar)
            if modifiers.isSubset(of: .shift) {
                return .text(modifiers.isEmpty ? String(character) : character.uppercased())
            }
            return .key(.character(character), modifiers)
        }
    }
}

/// `CSI`, an optional private prefix, numbers, intermediates and a final byte (ECMA-48, 5.4).
private struct ControlSequence {
    var prefix: Character?
    /// Missing values are 0. Sub-parameters after a colon are ignored.
    var values: [Int] = []
    var finalByte: UInt8
    var final: Character { Character(Unicode.Scalar(finalByte)) }

    init(parameters: ArraySlice<UInt8>, final: UInt8) {
        var parameters = parameters
        if let first = parameters.first, (0x3C...0x3F).contains(first) {
            prefix = Character(Unicode.Scalar(first))
            parameters = parameters.dropFirst()
        }
        finalByte = final
        while let last = parameters.last, last < 0x30 { parameters = parameters.dropLast() }
        guard !parameters.isEmpty else { return }
        values = parameters.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map { field in
            Int(String(decoding: field.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)).map { min($0, 1 << 30) } ?? 0
        }
    }

    subscript(index: Int) -> Int? { values.indices.contains(index) ? values[index] : nil }

    /// The second parameter minus one, without locks.
    var modifiers: TerminalModifiers {
        guard let value = self[1], value > 0 else { return [] }
        return TerminalModifiers(rawValue: UInt8((value - 1) & 0x0F))
    }
}
