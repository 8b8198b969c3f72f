/// Cleans text from outside for a screen: removes everything that controls the terminal, changes the writing direction,
/// is invisible or piles up. The rest can be measured.
public enum ScreenText {
    /// The maximum number of marks on a character. Further ones are discarded.
    private static let maximumMarks = 4
    /// The maximum number of scalars in a character, which no language and no emoji needs.
    private static let maximumScalars = 32
    /// The maximum size of a name in bytes, which is wider than any screen.
    private static let maximumName = 4096
    private static let tabWidth = 4

    /// Returns cleaned text of several lines. Tabs extend to the next multiple of four; other control characters become
    /// spaces.
    public static func cleaned(_ text: String) -> String { cleaned(text, isName: false) }

    /// Returns the cleaned name of a person or thing, which must not look like another name or like the text around it.
    /// It is a single line, with U+FFFD for characters without a shape, and is truncated if it is longer than any line.
    public static func cleanedName(_ name: String) -> String {
        guard name.utf8.count > maximumName else { return cleaned(name, isName: true) }
        let end = name.utf8.index(name.startIndex, offsetBy: maximumName)
        return cleaned(String(name.unicodeScalars[..<end]), isName: true)
    }

    private static func cleaned(_ text: String, isName: Bool) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) || ($0 == 0x0A && !isName) }) { return text }
        var result = ""
        result.reserveCapacity(text.utf8.count)
        var column = 0
        for character in text {
            if character == "\n" || character == "\r\n" {
                result += isName ? " " : "\n"
                column = 0
            } else if character == "\t" {
                let count = isName ? 1 : tabWidth - column % tabWidth
                result += String(repeating: " ", count: count)
                column += count
            } else {
                let cleaned = Self.cleaned(character, isName: isName)
                result += cleaned
                column += WidthProfile.unicode.width(of: cleaned)
            }
        }
        return result
    }

    private static func cleaned(_ character: Character, isName: Bool) -> String {
        let scalars = character.unicodeScalars.prefix(maximumScalars)
        if let only = scalars.first, scalars.count == 1, (0x20..<0x7F).contains(only.value) { return String(character) }
        let isEmoji = scalars.contains { $0.properties.isEmoji && $0.value > 0x7F } || isKeycap(scalars)
        let isFlag = scalars.first?.value == 0x1F3F4
        var (result, marks) = (String.UnicodeScalarView(), 0)
        for scalar in scalars {
            switch scalar.value {
            case 0x0D: result.append(isName ? " " : "\n")
            case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: result.append(" ")
            case 0x200D, 0xFE0E, 0xFE0F: if isEmoji { result.append(scalar) }
            case 0x200C: if !isName { result.append(scalar) }
            case 0xE0020...0xE007F: if isFlag { result.append(scalar) }
            default:
                let properties = scalar.properties
                if properties.isDefaultIgnorableCodePoint || properties.isBidiControl || scalar.value == 0xFEFF
                    || (0xFFF9...0xFFFB).contains(scalar.value)
                {
                    continue
                }
                switch properties.generalCategory {
                case .nonspacingMark, .enclosingMark, .spacingMark:
                    marks += 1
                    if marks <= maximumMarks { result.append(scalar) }
                case .privateUse where isName, .unassigned where isName: result.append("\u{FFFD}")
                default: result.append(scalar)
                }
            }
        }
        // They would have joined the part that was cut off.
        if scalars.count == maximumScalars { while result.last == "\u{200D}" { result.removeLast() } }
        return String(result)
    }

    private static func isKeycap(_ scalars: some Sequence<Unicode.Scalar>) -> Bool {
        scalars.contains { $0.value == 0x20E3 }
    }
}
