public import MatrixKit
public import TerminalUI

/// The appearance of colour roles and screen parts on a terminal.
public struct MXKTheme: Sendable, Hashable {
    /// The styles of the kit's own parts: see ``Part``. Missing ones are plain.
    public var styles: [Part: TerminalStyle]
    /// The colours of other users' names, assigned in turn to the numbers of ``MatrixKit/MXKText/ColorRole/other(_:)``.
    public var names: [TerminalColor]

    /// Creates a theme from styles.
    public init(styles: [Part: TerminalStyle], names: [TerminalColor] = []) {
        (self.styles, self.names) = (styles, names)
    }

    /// A part with a style.
    public enum Part: String, Hashable, Sendable, CaseIterable {
        /// Text colours.
        case subtitle, prefix, bing, encrypting, sending, error, link, quote, code, spoiler, own, highlight
        /// Screen parts.
        case time, date, readMarker, border, title, status, selection, unread, mention, hint, warning, reaction
        /// Presence indicators.
        case online, away, offline
    }

    /// Returns the style of a part.
    public func style(_ part: Part) -> TerminalStyle { styles[part] ?? .standard }

    /// Returns the style of a colour role.
    public func style(of role: MXKText.ColorRole) -> TerminalStyle {
        switch role {
        case .default: .standard
        case .subtitle: style(.subtitle)
        case .prefix: style(.prefix)
        case .bing: style(.bing)
        case .encrypting: style(.encrypting)
        case .sending: style(.sending)
        case .error: style(.error)
        case .link: style(.link)
        case .quote: style(.quote)
        case .code: style(.code)
        case .spoiler: style(.spoiler)
        case .own: style(.own)
        case .other(let number): names.isEmpty ? .standard : TerminalStyle(names[Int(number) % names.count])
        case .chosen(let red, let green, let blue): TerminalStyle(.rgb(red, green, blue))
        }
    }

    /// Returns the colour of a user's name. It is the same in every room.
    public func name(of userId: String) -> TerminalStyle {
        let hash = userId.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        var style = style(of: .other(UInt8(truncatingIfNeeded: hash ^ hash >> 8 ^ hash >> 16)))
        style.flags.insert(.bold)
        return style
    }

    private static func common(_ styles: [Part: TerminalStyle]) -> [Part: TerminalStyle] {
        let common: [Part: TerminalStyle] = [
            .sending: TerminalStyle(.standard, on: .standard, .dim),
            .encrypting: TerminalStyle(.standard, on: .standard, .dim),
            .spoiler: TerminalStyle(.standard, on: .standard, .inverse),
            .selection: TerminalStyle(.standard, on: .standard, .inverse),
            .unread: TerminalStyle(.standard, on: .standard, .bold),
            .title: TerminalStyle(.standard, on: .standard, .bold),
        ]
        return common.merging(styles) { $1 }
    }

    /// Light text on a dark background.
    public static let dark = MXKTheme(
        styles: common([
            .subtitle: TerminalStyle(.indexed(245)), .prefix: TerminalStyle(.indexed(180)),
            .bing: TerminalStyle(.indexed(215)), .error: TerminalStyle(.indexed(203)),
            .link: TerminalStyle(.indexed(75), on: .standard, .underline), .quote: TerminalStyle(.indexed(109)),
            .code: TerminalStyle(.indexed(222)), .own: TerminalStyle(.indexed(114), on: .standard, .bold),
            .highlight: TerminalStyle(.indexed(16), on: .indexed(215)), .time: TerminalStyle(.indexed(242)),
            .date: TerminalStyle(.indexed(245)), .readMarker: TerminalStyle(.indexed(203)),
            .border: TerminalStyle(.indexed(238)), .status: TerminalStyle(.indexed(245)),
            .mention: TerminalStyle(.indexed(203), on: .standard, .bold), .hint: TerminalStyle(.indexed(245)),
            .warning: TerminalStyle(.indexed(214)), .reaction: TerminalStyle(.indexed(250), on: .indexed(236)),
            .online: TerminalStyle(.indexed(114)), .away: TerminalStyle(.indexed(214)),
            .offline: TerminalStyle(.indexed(242)),
        ]), names: [75, 114, 180, 176, 109, 215, 147, 80, 174, 150].map { .indexed($0) })

    /// Dark text on a light background.
    public static let light = MXKTheme(
        styles: common([
            .subtitle: TerminalStyle(.indexed(242)), .prefix: TerminalStyle(.indexed(94)),
            .bing: TerminalStyle(.indexed(130)), .error: TerminalStyle(.indexed(160)),
            .link: TerminalStyle(.indexed(25), on: .standard, .underline), .quote: TerminalStyle(.indexed(24)),
            .code: TerminalStyle(.indexed(94)), .own: TerminalStyle(.indexed(28), on: .standard, .bold),
            .highlight: TerminalStyle(.indexed(16), on: .indexed(222)), .time: TerminalStyle(.indexed(245)),
            .date: TerminalStyle(.indexed(242)), .readMarker: TerminalStyle(.indexed(160)),
            .border: TerminalStyle(.indexed(250)), .status: TerminalStyle(.indexed(242)),
            .mention: TerminalStyle(.indexed(160), on: .standard, .bold), .hint: TerminalStyle(.indexed(242)),
            .warning: TerminalStyle(.indexed(130)), .reaction: TerminalStyle(.indexed(238), on: .indexed(254)),
            .online: TerminalStyle(.indexed(28)), .away: TerminalStyle(.indexed(130)),
            .offline: TerminalStyle(.indexed(245)),
        ]), names: [25, 28, 94, 90, 24, 130, 61, 30, 125, 64].map { .indexed($0) })

    /// No colours: important text is bold or underlined.
    public static let plain = MXKTheme(
        styles: common([
            .link: TerminalStyle(.standard, on: .standard, .underline),
            .own: TerminalStyle(.standard, on: .standard, .bold),
            .mention: TerminalStyle(.standard, on: .standard, [.bold, .inverse]),
            .highlight: TerminalStyle(.standard, on: .standard, .inverse),
            .bing: TerminalStyle(.standard, on: .standard, .bold),
        ]))

    /// The themes by name.
    public static let named: [String: MXKTheme] = ["dark": dark, "light": light, "plain": plain]
}
