import Basics
import TerminalUI

/// The words that the shell knows in addition to its commands.
struct ShellVocabulary: Sendable {
    /// The subscribed channels.
    var channels: [String] = []
    /// The names of received events, by channel.
    var events: [String: [String]] = [:]
    /// The user ids, by presence channel.
    var members: [String: [String]] = [:]

    /// Completes the last word up to the common prefix of all matches.
    func complete(_ text: String) -> Completion {
        let words = ShellWords(text)
        guard !words.endsInBackslash else { return Completion(text: text) }
        let begun = words.open?.text ?? ""
        // Words that a terminal cannot show are not offered.
        let known = Set(candidates(after: words.complete)).filter { PeerText($0).escaped == $0 && !$0.isEmpty }
        let fitting = known.filter { $0.unicodeScalars.starts(with: begun.unicodeScalars) }.sorted()
        guard let first = fitting.first else { return Completion(text: text) }
        let common = fitting.dropFirst().reduce(first) { Self.commonBeginning($0, $1) }
        let isWhole = fitting.count == 1
        guard isWhole || common != begun else { return Completion(text: text, candidates: fitting) }
        let start = words.open?.start ?? text.endIndex
        let quote = text[start...].unicodeScalars.first.flatMap { $0 == words.open?.quote ? $0 : nil }
        let word = ShellWords.quoted(common, in: quote, isWhole: isWhole)
        return Completion(text: text[..<start] + word, candidates: isWhole ? [] : fitting)
    }

    private func candidates(after words: [String]) -> [String] {
        guard let name = words.first else { return ShellVerb.allCases.map(\.rawValue) }
        guard let verb = ShellVerb(rawValue: name) else { return [] }
        switch (verb, words.count) {
        case (.help, 1): return ShellVerb.allCases.map(\.rawValue)
        case (.unsubscribe, _): return channels.filter { !words.dropFirst().contains($0) }
        case (.trigger, 1): return channels
        case (.trigger, 2): return events[words[1]] ?? []
        case (.members, 1): return channels.filter { $0.hasPrefix("presence-") }
        case (.members, 2): return members[words[1]] ?? []
        case (.help, _), (.trigger, _), (.members, _), (.subscribe, _), (.channels, _), (.status, _), (.signIn, _),
            (.connect, _), (.disconnect, _), (.quit, _):
            return []
        }
    }

    private static func commonBeginning(_ one: String, _ other: String) -> String {
        var common = String.UnicodeScalarView()
        for (left, right) in zip(one.unicodeScalars, other.unicodeScalars) {
            guard left == right else { break }
            common.append(left)
        }
        return String(common)
    }
}
