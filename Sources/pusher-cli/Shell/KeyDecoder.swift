/// Cuts what a terminal sends into keys: UTF-8, control characters, the sequences of ECMA-48 that xterm and its likes send,
/// bracketed pastes.
struct KeyDecoder {
    /// Longer sequences than any key has are passed over.
    private static let maximumSequence = 32
    /// In bytes. The rest of a longer paste is dropped.
    private static let maximumPaste = 1 << 20
    private static let pasteEnd = Array("\u{1B}[201~".utf8)

    private var pending: [UInt8] = []
    private var paste: [UInt8]?

    private enum Step {
        case key(Key, length: Int)
        case pasteBegins(length: Int)
        /// What there is may be the beginning of several keys.
        case incomplete
    }

    /// Whether ``flush()`` would bring a key: the Escape key sends what other keys begin with.
    var isWaiting: Bool { paste == nil && !pending.isEmpty }

    mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
        pending += bytes
        return takeKeys()
    }

    /// What is pending, for nothing has followed for a while.
    mutating func flush() -> [Key] {
        guard isWaiting else { return [] }
        let isEscape = pending == [0x1B]
        pending = []
        return [isEscape ? .escape : .other]
    }

    private mutating func takeKeys() -> [Key] {
        var (keys, text) = ([Key](), "")
        func endText() {
            if !text.isEmpty { keys.append(.text(text)) }
            text = ""
        }
        var start = 0
        scan: while start < pending.count {
            if paste != nil {
                guard let end = takePaste(from: start) else {
                    start = pending.count - unfinishedPasteEnd(from: start)
                    break
                }
                keys.append(.paste(String(decoding: paste ?? [], as: UTF8.self)))
                (paste, start) = (nil, end)
                continue
            }
            switch step(pending[start...]) {
            case .key(.text(let more), let length):
                text += more
                start += length
            case .key(let key, let length):
                endText()
                keys.append(key)
                start += length
            case .pasteBegins(let length):
                endText()
                paste = []
                start += length
            case .incomplete: break scan
            }
        }
        endText()
        pending.removeFirst(start)
        return keys
    }

    // MARK: Pastes

    /// - Returns: Where what follows the paste begins; nil if its end has not come.
    private mutating func takePaste(from start: Int) -> Int? {
        let marker = Self.pasteEnd
        var index = start
        while index + marker.count <= pending.count {
            if pending[index] == marker[0], pending[index..<index + marker.count].elementsEqual(marker) {
                keep(pending[start..<index])
                return index + marker.count
            }
            index += 1
        }
        keep(pending[start..<pending.count - unfinishedPasteEnd(from: start)])
        return nil
    }

    /// How much at the end may be the beginning of the marker.
    private func unfinishedPasteEnd(from start: Int) -> Int {
        let marker = Self.pasteEnd
        let longest = min(marker.count - 1, pending.count - start)
        return (0...longest).last { pending.suffix($0).elementsEqual(marker.prefix($0)) } ?? 0
    }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) {
        let room = Self.maximumPaste - (paste?.count ?? 0)
        paste?.append(contentsOf: bytes.prefix(room))
    }

    // MARK: Keys

    private func step(_ bytes: ArraySlice<UInt8>) -> Step {
        let first = bytes[bytes.startIndex]
        switch first {
        case 0x1B: return escapeSequence(bytes)
        case 0x0A, 0x0D: return .key(.enter, length: 1)
        case 0x09: return .key(.tab, length: 1)
        case 0x08, 0x7F: return .key(.backspace, length: 1)
        case 0x01...0x1A: return .key(.control(Character(Unicode.Scalar(first + 0x60))), length: 1)
        case 0x00..<0x20: return .key(.other, length: 1)
        case 0x20..<0x7F: return .key(.text(String(Unicode.Scalar(first))), length: 1)
        default: return scalar(bytes)
        }
    }

    private func scalar(_ bytes: ArraySlice<UInt8>) -> Step {
        let first = bytes[bytes.startIndex]
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        let sequence = bytes.prefix(length)
        let isContinued = sequence.dropFirst().allSatisfy { $0 & 0xC0 == 0x80 }
        if (0xC2...0xF4).contains(first), isContinued {
            if sequence.count < length { return .incomplete }
            if let text = String(validating: sequence, as: UTF8.self) { return .key(.text(text), length: length) }
        }
        return .key(.text("\u{FFFD}"), length: 1)
    }

    private func escapeSequence(_ bytes: ArraySlice<UInt8>) -> Step {
        let start = bytes.startIndex
        guard bytes.count > 1 else { return .incomplete }
        switch bytes[start + 1] {
        case UInt8(ascii: "["): return controlSequence(bytes)
        case UInt8(ascii: "O"):
            guard bytes.count > 2 else { return .incomplete }
            return .key(Self.key(final: bytes[start + 2], parameters: ""), length: 3)
        case 0x08, 0x7F: return .key(.alt("\u{7F}"), length: 2)
        case let byte where (0x21..<0x7F).contains(byte):
            let letter = Character(Unicode.Scalar(byte)).lowercased()
            return .key(letter.first.map(Key.alt) ?? .other, length: 2)
        default: return .key(.escape, length: 1)
        }
    }

    private func controlSequence(_ bytes: ArraySlice<UInt8>) -> Step {
        let body = bytes.dropFirst(2)
        guard let end = body.firstIndex(where: { !(0x20..<0x40).contains($0) }) else {
            return body.count > Self.maximumSequence ? .key(.other, length: bytes.count) : .incomplete
        }
        let length = end - bytes.startIndex + 1
        guard (0x40..<0x7F).contains(bytes[end]) else { return .key(.other, length: length - 1) }
        let parameters = String(decoding: bytes[body.startIndex..<end], as: UTF8.self)
        if bytes[end] == UInt8(ascii: "~"), parameters == "200" { return .pasteBegins(length: length) }
        return .key(Self.key(final: bytes[end], parameters: parameters), length: length)
    }

    private static func key(final: UInt8, parameters: String) -> Key {
        // `1;5C`: with Ctrl; 3 is Alt.
        let isByWord = parameters.hasSuffix(";5") || parameters.hasSuffix(";3")
        switch (final, parameters) {
        case (UInt8(ascii: "A"), _): return .up
        case (UInt8(ascii: "B"), _): return .down
        case (UInt8(ascii: "C"), _): return isByWord ? .alt("f") : .right
        case (UInt8(ascii: "D"), _): return isByWord ? .alt("b") : .left
        case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): return .home
        case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): return .end
        case (UInt8(ascii: "~"), "3"): return .delete
        default: return .other
        }
    }
}
