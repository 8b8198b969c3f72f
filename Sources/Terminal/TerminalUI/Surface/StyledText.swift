/// Text in runs of uniform style. It must be clean: see ``ScreenText``.
public struct StyledText: Hashable, Sendable, ExpressibleByStringLiteral {
    /// A part of the text with a uniform style.
    public struct Run: Hashable, Sendable {
        /// Clean text.
        public var text: String
        /// Its style.
        public var style: TerminalStyle
        /// The link's target, for terminals that support links (OSC 8).
        public var link: String?

        /// Creates a run with a style and an optional link.
        public init(_ text: String, _ style: TerminalStyle = .standard, link: String? = nil) {
            (self.text, self.style, self.link) = (text, style, link)
        }
    }

    /// The runs. None is empty, and neighbours differ in style or link.
    public private(set) var runs: [Run] = []

    /// Creates a text from runs.
    public init(_ runs: [Run] = []) { for run in runs { append(run) } }

    /// Creates a text with one run.
    public init(_ text: String, _ style: TerminalStyle = .standard, link: String? = nil) {
        append(Run(text, style, link: link))
    }

    /// Creates a text with one run in the standard style.
    public init(stringLiteral value: String) { self.init(value) }

    /// Whether the text is empty.
    public var isEmpty: Bool { runs.isEmpty }

    /// The text without styles.
    public var text: String { runs.map(\.text).joined() }

    /// Appends a run.
    public mutating func append(_ run: Run) {
        guard !run.text.isEmpty else { return }
        if let last = runs.last, last.style == run.style, last.link == run.link {
            runs[runs.count - 1].text += run.text
        } else {
            runs.append(run)
        }
    }

    /// Appends text.
    public mutating func append(_ text: String, _ style: TerminalStyle = .standard) { append(Run(text, style)) }

    /// Concatenates two texts.
    public static func + (left: StyledText, right: StyledText) -> StyledText {
        var result = left
        result += right
        return result
    }

    /// Appends a text.
    public static func += (left: inout StyledText, right: StyledText) { for run in right.runs { left.append(run) } }

    /// Returns the number of columns of the text in one line.
    public func width(_ profile: WidthProfile = .unicode) -> Int { runs.reduce(0) { $0 + profile.width(of: $1.text) } }
}
