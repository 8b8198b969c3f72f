import Foundation
import MatrixProtocol
import MatrixSDK
import TerminalUI

/// The completions of a word in the composer.
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

    /// Returns the matching members: those that begin with the word come first, among them recent speakers. After `@`
    /// the id must match, because names are not unique.
    private func members(_ word: String, isAtStart: Bool) -> [MXKCompletion] {
        guard let room, let state = room.state else { return [] }
        let wanted = word.hasPrefix("@") ? String(word.dropFirst()) : word
        guard !wanted.isEmpty else { return [] }
        var rank: [String: Int] = [:]
        for event in (try? room.storedMessages(limit: 100))?.reversed() ?? [] where rank[event.sender] == nil {
            rank[event.sender] = rank.count
        }
        let (me, wantsId) = (session?.credentials?.userId, word.hasPrefix("@"))
        let fitting = state.members.joinedMembers.compactMap { member -> (member: MXRoomMember, order: [Int])? in
            guard member.userId != me, let fit = Self.fit(member, wanted, wantsId: wantsId) else { return nil }
            return (member, [fit, rank[member.userId] ?? .max])
        }
        let sorted = fitting.sorted { left, right in
            if left.order != right.order { return left.order.lexicographicallyPrecedes(right.order) }
            let (one, other) = (left.member, right.member)
            return (one.displayname ?? one.userId, one.userId) < (other.displayname ?? other.userId, other.userId)
        }
        return sorted.prefix(50).map { found in
            let user = found.member.userId
            let name = Self.name(of: found.member, in: state)
            let inserted = wantsId ? user : name
            return MXKCompletion(
                inserted + (isAtStart ? ": " : " "), shown: name.contains(user) ? name : "\(name)  \(user)",
                mention: MXMention(userId: user, name: inserted))
        }
    }

    /// Returns how well a member matches, 0 being best; `nil` for no match.
    private static func fit(_ member: MXRoomMember, _ wanted: String, wantsId: Bool) -> Int? {
        if begins(String(member.userId.dropFirst()), with: wanted) { return 0 }
        let name = member.displayname ?? ""
        if begins(name, with: wanted) { return wantsId ? 1 : 0 }
        return name.split(separator: " ").contains { begins(String($0), with: wanted) } ? 2 : nil
    }

    /// Returns the text to insert for a member, with the id if others share the name. It is not a command and has no
    /// invisible characters.
    static func name(of member: MXRoomMember, in state: MXRoomState?) -> String {
        let name = state?.members.memberName(member.userId) ?? member.displayname ?? ""
        let cleaned = ScreenText.cleanedName(name).drop { $0 == "/" || $0.isWhitespace }
        return cleaned.isEmpty ? member.userId : String(cleaned)
    }

    private static func begins(_ text: String, with start: String) -> Bool {
        text.range(of: start, options: [.caseInsensitive, .diacriticInsensitive, .anchored]) != nil
    }
}
