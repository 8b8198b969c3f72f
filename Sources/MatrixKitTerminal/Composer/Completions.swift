import Foundation
import MatrixProtocol
import MatrixSDK
import TerminalUI

/// What a word of the composer can become.
struct Completions {
    let room: MXRoom?
    let session: MXSession?

    func candidates(_ word: String, isAtStart: Bool) -> [MXKCompletion] {
        if word.hasPrefix("/"), isAtStart { return commands(word) }
        if word.hasPrefix(":"), word.count > 1 { return emoji(word) }
        if word.hasPrefix("#") { return rooms(word) }
        return members(word, isAtStart: isAtStart)
    }

    private func commands(_ word: String) -> [MXKCompletion] {
        MXKCommand.known.filter { "/\($0.name)".hasPrefix(word.lowercased()) }.map {
            MXKCompletion("/\($0.name) ", shown: "\($0.usage)  \($0.summary)")
        }
    }

    private func emoji(_ word: String) -> [MXKCompletion] {
        let start = word.dropFirst().lowercased()
        return EmojiNames.all.filter { $0.name.hasPrefix(start) }.map {
            MXKCompletion($0.emoji, shown: "\($0.emoji) :\($0.name):")
        }
    }

    private func rooms(_ word: String) -> [MXKCompletion] {
        (session?.roomsSummaries ?? []).compactMap(\.canonicalAlias).filter { Self.begins($0, with: word) }.sorted().map
        {
            MXKCompletion($0 + " ", shown: $0)
        }
    }

    /// Whoever spoke last comes first.
    private func members(_ word: String, isAtStart: Bool) -> [MXKCompletion] {
        guard let room, let state = room.state else { return [] }
        let wanted = word.hasPrefix("@") ? String(word.dropFirst()) : word
        guard !wanted.isEmpty else { return [] }
        var rank: [String: Int] = [:]
        for event in (try? room.storedMessages(limit: 100))?.reversed() ?? [] where rank[event.sender] == nil {
            rank[event.sender] = rank.count
        }
        let me = session?.credentials?.userId
        let fitting = state.members.joinedMembers.filter { member in
            member.userId != me
                && (Self.begins(String(member.userId.dropFirst()), with: wanted)
                    || Self.anyWord(of: member.displayname ?? "", beginsWith: wanted))
        }
        let sorted = fitting.sorted { left, right in
            let (one, other) = (rank[left.userId] ?? .max, rank[right.userId] ?? .max)
            if one != other { return one < other }
            return (left.displayname ?? left.userId, left.userId) < (right.displayname ?? right.userId, right.userId)
        }
        return sorted.prefix(50).map { member in
            // A name is no command, and has no more letters than are seen.
            let cleaned = ScreenText.cleanedName(member.displayname ?? "").drop { $0 == "/" || $0.isWhitespace }
            let name = cleaned.isEmpty ? member.userId : String(cleaned)
            let end = isAtStart ? ": " : " "
            let inserted = word.hasPrefix("@") ? member.userId : name
            return MXKCompletion(
                inserted + end, shown: "\(name)  \(member.userId)",
                mention: MXMention(userId: member.userId, name: inserted))
        }
    }

    private static func begins(_ text: String, with start: String) -> Bool {
        text.range(of: start, options: [.caseInsensitive, .diacriticInsensitive, .anchored]) != nil
    }

    private static func anyWord(of name: String, beginsWith start: String) -> Bool {
        begins(name, with: start) || name.split(separator: " ").contains { begins(String($0), with: start) }
    }
}
