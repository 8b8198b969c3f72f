/// The emoji that have names in the composer.
enum EmojiNames {
    static let all: [(name: String, emoji: String)] = [
        ("thumbsup", "👍"), ("thumbsdown", "👎"), ("smile", "😄"), ("grin", "😁"), ("joy", "😂"), ("wink", "😉"),
        ("heart", "❤️"), ("tada", "🎉"), ("fire", "🔥"), ("rocket", "🚀"), ("eyes", "👀"), ("thinking", "🤔"), ("cry", "😢"),
        ("sob", "😭"), ("angry", "😠"), ("wave", "👋"), ("clap", "👏"), ("pray", "🙏"), ("ok", "👌"), ("check", "✅"),
        ("cross", "❌"), ("warning", "⚠️"), ("question", "❓"), ("bug", "🐛"), ("coffee", "☕"), ("beer", "🍺"),
        ("pizza", "🍕"),
        ("cake", "🍰"), ("sun", "☀️"), ("rain", "🌧️"), ("star", "⭐"), ("sparkles", "✨"), ("zap", "⚡"), ("100", "💯"),
        ("shrug", "🤷"), ("facepalm", "🤦"), ("party", "🥳"), ("sleep", "😴"), ("sick", "🤒"), ("cool", "😎"), ("nerd", "🤓"),
        ("robot", "🤖"), ("ghost", "👻"), ("skull", "💀"), ("poop", "💩"), ("muscle", "💪"), ("bulb", "💡"), ("lock", "🔒"),
        ("key", "🔑"), ("mail", "📧"), ("phone", "📱"), ("book", "📖"), ("pen", "🖊️"), ("clock", "🕐"), ("calendar", "📅"),
        ("hammer", "🔨"), ("wrench", "🔧"), ("package", "📦"), ("ship", "🚢"), ("car", "🚗"), ("train", "🚆"), ("house", "🏠"),
    ]

    private static let names = Dictionary(all.map { ($0.emoji, $0.name) }) { first, _ in first }

    /// Replaces emoji such as 👍 with `:thumbsup:`, their short name, or else with their Unicode name.
    static func inWords(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        return text.reduce(into: "") { result, character in
            guard let first = character.unicodeScalars.first,
                first.properties.isEmojiPresentation || character.unicodeScalars.contains("\u{FE0F}")
            else { return result.append(character) }
            let name = names[String(character)] ?? first.properties.name?.lowercased().replacing(" ", with: "_")
            result += ":\(name ?? "emoji"):"
        }
    }
}
