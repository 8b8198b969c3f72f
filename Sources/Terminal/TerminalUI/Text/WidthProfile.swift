/// The widths of characters on a terminal. Terminals agree on most, but not on emoji sequences.
///
/// Wide and full-width characters (Unicode 17, UAX #11) and emoji take two columns, combining marks and format
/// characters none. Characters of ambiguous width take one, as in terminals that are not set up for East Asia. Control
/// characters take none here; ``ScreenText`` removes them all.
public struct WidthProfile: Hashable, Sendable {
    /// Whether a symbol with emoji presentation (U+FE0F) takes two columns: ❤️.
    public var widensPictures: Bool
    /// Whether a skin tone takes no columns of its own: 👍🏽.
    public var joinsSkinTones: Bool
    /// Whether emoji joined by U+200D are one: 👨‍👩‍👧.
    public var joinsSequences: Bool

    /// Creates a profile; by default, the one of Unicode.
    public init(widensPictures: Bool = true, joinsSkinTones: Bool = true, joinsSequences: Bool = true) {
        self.widensPictures = widensPictures
        self.joinsSkinTones = joinsSkinTones
        self.joinsSequences = joinsSequences
    }

    /// The widths of Unicode and terminals that follow it: kitty, WezTerm, Ghostty, foot, recent VTE.
    public static let unicode = WidthProfile()
    /// The widths of tmux 3.3a.
    public static let tmux = WidthProfile(widensPictures: false, joinsSkinTones: false)
    /// The widths of terminals that add up the C library's `wcwidth`: the Linux console, xterm.
    public static let wcwidth = WidthProfile(widensPictures: false, joinsSkinTones: false, joinsSequences: false)

    /// Returns the number of columns of a text without breaks.
    public func width(of text: some StringProtocol) -> Int {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text.utf8.count }
        return text.reduce(0) { $0 + width(of: $1) }
    }

    /// Returns the number of columns of a user-perceived character: a letter with its marks, an emoji sequence.
    public func width(of character: Character) -> Int {
        var width = 0
        var previous: Unicode.Scalar?
        for scalar in character.unicodeScalars {
            switch scalar.value {
            case 0xFE0F:
                if widensPictures, width == 1, previous?.properties.isEmoji == true { width = 2 }
            case 0x1F3FB...0x1F3FF where width > 0: width += joinsSkinTones ? 0 : 2
            case 0x1F1E6...0x1F1FF: width = 2  // two of them form one flag
            default:
                if previous?.value != 0x200D || !joinsSequences { width += Self.width(of: scalar) }
            }
            previous = scalar
        }
        return width
    }

    /// Returns whether every terminal uses the width of ``width(of:)-(Character)``. After other characters, the column
    /// is uncertain.
    public static func isCertain(_ character: Character) -> Bool {
        let scalars = character.unicodeScalars
        guard let first = scalars.first else { return true }
        switch first.value {
        case 0x20..<0x7F, 0xA1..<0xAD, 0xAE..<0x300, 0x370..<0x590, 0x1E00..<0x2000, 0x2010..<0x2028, 0x2190..<0x2300,
            0x2500..<0x25A0, 0x3041..<0x3097, 0x30A0..<0x3100, 0x4E00..<0x9FF0, 0xAC00..<0xD7A4, 0xFF01..<0xFF61:
            return scalars.dropFirst().allSatisfy {
                $0.properties.generalCategory == .nonspacingMark && $0.value < 0x1AB0
            }
        default: return false
        }
    }

    private static func width(of scalar: Unicode.Scalar) -> Int {
        if (0x20..<0x7F).contains(scalar.value) { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .control, .lineSeparator, .paragraphSeparator: return 0
        case .format: return scalar.value == 0xAD ? 1 : 0
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .spacingMark,
            .decimalNumber, .letterNumber, .otherNumber, .connectorPunctuation, .dashPunctuation, .openPunctuation,
            .closePunctuation, .initialPunctuation, .finalPunctuation, .otherPunctuation, .mathSymbol,
            .currencySymbol, .modifierSymbol, .otherSymbol, .spaceSeparator, .surrogate, .privateUse, .unassigned:
            break
        @unknown default: break
        }
        // The vowels and final consonants of a Korean syllable share the columns of its first consonant.
        if (0x1160...0x11FF).contains(scalar.value) || (0xD7B0...0xD7FF).contains(scalar.value) { return 0 }
        return scalar.properties.isEmojiPresentation || isWide(scalar.value) ? 2 : 1
    }

    /// East Asian Width W and F, without the emoji that every standard library in use knows. Includes unassigned
    /// characters in between.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F, 0x2E80...0x303E, 0x3041...0x3247,
        0x3250...0xA4C6, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6B,
        0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x16FF6, 0x17000...0x18DF2, 0x1AFF0...0x1B2FB,
        0x1D300...0x1D356, 0x1D360...0x1D376, 0x1F200...0x1F202, 0x1F210...0x1F265, 0x1F6D5...0x1F6D8,
        0x1F6DC...0x1F6DF, 0x1FA70...0x1FAF8, 0x20000...0x2FFFD, 0x30000...0x3FFFD,
    ]

    private static func isWide(_ value: UInt32) -> Bool {
        guard value >= 0x1100 else { return false }
        var (low, high) = (0, wide.count)
        while low < high {
            let middle = (low + high) / 2
            if wide[middle].upperBound < value { low = middle + 1 } else { high = middle }
        }
        return low < wide.count && wide[low].contains(value)
    }
}
