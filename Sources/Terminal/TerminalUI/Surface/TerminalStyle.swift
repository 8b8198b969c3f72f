/// The style of a cell.
public struct TerminalStyle: Hashable, Sendable {
    /// Attributes of a character other than its colours.
    public struct Flags: OptionSet, Hashable, Sendable {
        /// One bit for each attribute.
        public let rawValue: UInt8

        /// Creates flags from their bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Bold, or bright.
        public static let bold = Flags(rawValue: 1)
        /// Dimmed.
        public static let dim = Flags(rawValue: 2)
        /// Italic.
        public static let italic = Flags(rawValue: 4)
        /// Underlined.
        public static let underline = Flags(rawValue: 8)
        /// With foreground and background swapped.
        public static let inverse = Flags(rawValue: 16)
        /// Struck through.
        public static let strike = Flags(rawValue: 32)
    }

    /// The colour of the character.
    public var foreground: TerminalColor
    /// The colour behind it.
    public var background: TerminalColor
    /// The other attributes.
    public var flags: Flags

    /// Creates a style; by default, in the terminal's default colours.
    public init(
        _ foreground: TerminalColor = .standard, on background: TerminalColor = .standard, _ flags: Flags = []
    ) {
        (self.foreground, self.background, self.flags) = (foreground, background, flags)
    }

    /// The terminal's default colours without attributes.
    public static let standard = TerminalStyle()

    /// Returns this style combined with another one, whose colours take precedence.
    public func merging(_ other: TerminalStyle) -> TerminalStyle {
        TerminalStyle(
            other.foreground == .standard ? foreground : other.foreground,
            on: other.background == .standard ? background : other.background, flags.union(other.flags))
    }
}

/// A colour of a terminal.
public enum TerminalColor: Hashable, Sendable {
    /// The terminal's default colour.
    case standard
    /// A colour of the palette: 0 to 7 are the terminal's colours, 8 to 15 their bright variants, and the rest is
    /// xterm's cube and greys.
    case indexed(UInt8)
    case rgb(UInt8, UInt8, UInt8)
}

/// The colours that a terminal can show.
public enum ColorDepth: Hashable, Sendable, CaseIterable {
    case none
    case sixteen
    case indexed
    case rgb
}

extension TerminalColor {
    /// Returns the nearest colour that the terminal can show.
    func reduced(to depth: ColorDepth) -> TerminalColor {
        switch (self, depth) {
        case (.standard, _), (_, .none): .standard
        case (_, .rgb), (.indexed, .indexed), (.indexed(0..<16), .sixteen): self
        case (.rgb(let red, let green, let blue), .indexed): .indexed(Self.cube(red, green, blue))
        case (.rgb(let red, let green, let blue), .sixteen): .indexed(Self.basic(red, green, blue))
        case (.indexed(let index), .sixteen):
            if case .rgb(let red, let green, let blue) = Self.color(at: index) {
                .indexed(Self.basic(red, green, blue))
            } else {
                self
            }
        }
    }

    /// The steps of xterm's colour cube.
    private static let steps: [UInt8] = [0, 95, 135, 175, 215, 255]

    private static func color(at index: UInt8) -> TerminalColor {
        if index >= 232 {
            let grey = 8 + 10 * (index - 232)
            return .rgb(grey, grey, grey)
        }
        guard index >= 16 else { return .indexed(index) }
        let cube = Int(index) - 16
        return .rgb(steps[cube / 36], steps[cube / 6 % 6], steps[cube % 6])
    }

    private static func cube(_ red: UInt8, _ green: UInt8, _ blue: UInt8) -> UInt8 {
        if max(red, green, blue) - min(red, green, blue) < 8 {
            let grey = Int(green)
            if (8...238).contains(grey) { return UInt8(232 + min((grey - 8 + 5) / 10, 23)) }
        }
        func step(_ value: UInt8) -> UInt8 {
            UInt8(steps.indices.min { abs(Int(steps[$0]) - Int(value)) < abs(Int(steps[$1]) - Int(value)) } ?? 0)
        }
        return 16 + 36 * step(red) + 6 * step(green) + step(blue)
    }

    private static func basic(_ red: UInt8, _ green: UInt8, _ blue: UInt8) -> UInt8 {
        let brightest = max(red, green, blue)
        guard brightest > 48 else { return 0 }
        let half = brightest / 2
        let bits: UInt8 = (red > half ? 1 : 0) + (green > half ? 2 : 0) + (blue > half ? 4 : 0)
        if bits == 7 { return brightest > 200 ? 15 : brightest > 110 ? 7 : 8 }
        return bits + (brightest > 170 ? 8 : 0)
    }
}
