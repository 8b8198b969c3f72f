/// Text in runs of one style each. It must be clean: see ``ScreenText``.
public struct StyledText: Hashable, Sendable, ExpressibleByStringLiteral {
    /// A part of it that looks the same throughout.
    public struct Run: Hashable, Sendable {
        /// Clean text.
        public var text: String
        /// How it looks.
        public var style: TerminalStyle
        /// Where the text leads, for terminals that know links (OSC 8).
        public var link: String?

        /// A part with a style, and a link if there is one.
        public init(_ text: String, _ style: TerminalStyle = .standard, link: String? = nil) {
            (self.text, self.style, self.link) = (text, style, link)
        }
    }

    /// None is empty, and no two neighbours look the same.
    public private(set) var runs: [Run] = []

    /// The parts one after the other.
    public init(_ runs: [Run] = []) { for run in runs { append(run) } }

    /// One part.
    public init(_ text: String, _ style: TerminalStyle = .standard, link: String? = nil) {
        append(Run(text, style, link: link))
    }

    /// One part without a style.
    public init(stringLiteral value: String) { self.init(value) }

    /// Whether there is no text in it.
    public var isEmpty: Bool { runs.isEmpty }

    /// Without the styles.
    public var text: String { runs.map(\.text).joined() }

    /// Adds a part at the end.
    public mutating func append(_ run: Run) {
        guard !run.text.isEmpty else { return }
        if let last = runs.last, last.style == run.style, last.link == run.link {
            runs[runs.count - 1].text += run.text
        } else {
            runs.append(run)
        }
    }

    /// Adds text at the end.
    public mutating func append(_ text: String, _ style: TerminalStyle = .standard) { append(Run(text, style)) }

    /// One text behind the other.
    public static func + (left: StyledText, right: StyledText) -> StyledText {
        var result = left
        result += right
        return result
    }

    /// Adds a text at the end.
    public static func += (left: inout StyledText, right: StyledText) { for run in right.runs { left.append(run) } }

    /// The columns that it takes in one line.
    public func width(_ profile: WidthProfile = .unicode) -> Int { runs.reduce(0) { $0 + profile.width(of: $1.text) } }
}
