public import Foundation

/// The texts of the kit in one language. A `{name}` in a text is a placeholder.
///
/// Texts that a language lacks appear in English. A language file is a JSON object that maps keys to texts; ``english``
/// defines the keys.
public struct MXKLanguage: Hashable, Sendable {
    private var words: [String: String]

    /// - Parameter words: Texts by key.
    public init(words: [String: String]) { self.words = words }

    /// Reads a language file.
    public init(contentsOf file: URL) throws {
        words = try JSONDecoder().decode([String: String].self, from: Data(contentsOf: file))
    }

    /// The keys that have a text.
    public var keys: Set<String> { Set(words.keys) }

    /// Returns the text of a key with its placeholders filled in. A `nil` value leaves its placeholder empty.
    public func text(_ key: String, _ values: [String: String?] = [:]) -> String {
        guard let words = words[key] ?? Self.english.words[key] else { return key }
        var (result, rest) = ("", words[...])
        while let start = rest.firstIndex(of: "{"), let end = rest[start...].firstIndex(of: "}") {
            result += rest[..<start]
            let name = String(rest[rest.index(after: start)..<end])
            result += (values[name] ?? nil) ?? ""
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    /// Returns the text of the first key that the language has: `member.join.you`, then `member.join`.
    func text(_ keys: [String], _ values: [String: String?]) -> String {
        let key = keys.first { words[$0] != nil } ?? keys.first { Self.english.words[$0] != nil } ?? keys.last ?? ""
        return text(key, values)
    }

    /// The built-in language.
    public static let english = MXKLanguage(words: [
        "member.joined": "{user} joined{reason}", "member.joined.you": "You joined{reason}",
        "member.invited": "{sender} invited {user}{reason}", "member.invited.you": "You invited {user}{reason}",
        "member.invited.me": "{sender} invited you{reason}",
        "member.knocked": "{user} asked to join{reason}", "member.knocked.you": "You asked to join{reason}",
        "member.left": "{user} left{reason}", "member.left.you": "You left{reason}",
        "member.declined": "{user} declined the invitation{reason}",
        "member.declined.you": "You declined the invitation{reason}",
        "member.knockTakenBack": "{user} no longer asks to join{reason}",
        "member.knockTakenBack.you": "You no longer ask to join{reason}",
        "member.kicked": "{sender} removed {user}{reason}", "member.kicked.you": "You removed {user}{reason}",
        "member.kicked.me": "{sender} removed you{reason}",
        "member.banned": "{sender} banned {user}{reason}", "member.banned.you": "You banned {user}{reason}",
        "member.banned.me": "{sender} banned you{reason}",
        "member.unbanned": "{sender} unbanned {user}{reason}", "member.unbanned.you": "You unbanned {user}{reason}",
        "member.unbanned.me": "{sender} unbanned you{reason}",
        "member.withdrawn": "{sender} took back the invitation of {user}{reason}",
        "member.withdrawn.you": "You took back the invitation of {user}{reason}",
        "member.withdrawn.me": "{sender} took back your invitation{reason}",
        "member.knockRefused": "{sender} did not let {user} in{reason}",
        "member.knockRefused.you": "You did not let {user} in{reason}",
        "member.knockRefused.me": "{sender} did not let you in{reason}",
        "reason": ". Reason: {reason}",
        "profile.named": "{user} is now called {new}", "profile.named.you": "You are now called {new}",
        "profile.renamed": "{old} is now called {new}", "profile.renamed.you": "You changed your name to {new}",
        "profile.unnamed": "{old} no longer has a name", "profile.unnamed.you": "You removed your name",
        "profile.avatar": "{user} has a new picture", "profile.avatar.you": "You have a new picture",
        "profile.both": "{old} is now called {new} and has a new picture",
        "profile.both.you": "You changed your name to {new} and your picture",
        "thirdParty.sent": "{sender} invited {name}", "thirdParty.sent.you": "You invited {name}",
        "thirdParty.accepted": "{user} accepted the invitation of {name}",
        "thirdParty.accepted.you": "You accepted the invitation of {name}",
        "thirdParty.withdrawn": "{sender} took back the invitation of {name}",
        "thirdParty.withdrawn.you": "You took back the invitation of {name}",
        "name.set": "{sender} named the room {name}", "name.set.you": "You named the room {name}",
        "name.removed": "{sender} removed the room's name", "name.removed.you": "You removed the room's name",
        "topic.set": "{sender} set the topic: {topic}", "topic.set.you": "You set the topic: {topic}",
        "topic.removed": "{sender} removed the topic", "topic.removed.you": "You removed the topic",
        "avatar.set": "{sender} changed the room's picture", "avatar.set.you": "You changed the room's picture",
        "avatar.removed": "{sender} removed the room's picture", "avatar.removed.you": "You removed the room's picture",
        "create": "{sender} created the room", "create.you": "You created the room",
        "create.direct": "{sender} began the conversation", "create.direct.you": "You began the conversation",
        "joinRule.public": "{sender} let everybody join", "joinRule.public.you": "You let everybody join",
        "joinRule.invite": "{sender} made the room invite only", "joinRule.invite.you": "You made the room invite only",
        "joinRule.knock": "{sender} let everybody ask to join", "joinRule.knock.you": "You let everybody ask to join",
        "joinRule.other": "{sender} changed who can join: {rule}",
        "joinRule.other.you": "You changed who can join: {rule}",
        "history.world_readable": "{sender} let everybody read the history",
        "history.world_readable.you": "You let everybody read the history",
        "history.shared": "{sender} let all members read the whole history",
        "history.shared.you": "You let all members read the whole history",
        "history.invited": "{sender} let members read the history since they were invited",
        "history.invited.you": "You let members read the history since they were invited",
        "history.joined": "{sender} let members read the history since they joined",
        "history.joined.you": "You let members read the history since they joined",
        "power.set": "{sender} set the power levels: {levels}", "power.set.you": "You set the power levels: {levels}",
        "power.level": "{user} {level}",
        "aliases": "Addresses of the room: {aliases}", "aliases.none": "{sender} removed the room's address",
        "aliases.none.you": "You removed the room's address",
        "encryption": "{sender} turned encryption on", "encryption.you": "You turned encryption on",
        "encryption.unknown": "{sender} turned encryption on, of an unknown kind: {algorithm}",
        "encryption.unknown.you": "You turned encryption on, of an unknown kind: {algorithm}",
        "guests.can_join": "{sender} let guests join", "guests.can_join.you": "You let guests join",
        "guests.forbidden": "{sender} no longer lets guests join",
        "guests.forbidden.you": "You no longer let guests join",
        "pinned": "{sender} changed the pinned messages", "pinned.you": "You changed the pinned messages",
        "tombstone": "{sender} replaced the room by another: {body}",
        "tombstone.you": "You replaced the room by another: {body}",
        "serverACL": "{sender} changed which servers may take part",
        "serverACL.you": "You changed which servers may take part",
        "call.voice": "{sender} placed a voice call", "call.voice.you": "You placed a voice call",
        "call.video": "{sender} placed a video call", "call.video.you": "You placed a video call",
        "call.answer": "{sender} answered the call", "call.answer.you": "You answered the call",
        "call.hangup": "{sender} ended the call", "call.hangup.you": "You ended the call",
        "call.reject": "{sender} declined the call", "call.reject.you": "You declined the call",
        "verification.done": "Verification with {sender} is done",
        "verification.cancel": "{sender} cancelled the verification",
        "verification.cancel.you": "You cancelled the verification",
        "redacted": "message deleted", "redacted.by": "message deleted by {sender}{reason}",
        "redaction": "{sender} deleted a message{reason}", "redaction.you": "You deleted a message{reason}",
        "image": "image", "video": "video", "audio": "audio", "voice": "voice message", "file": "file",
        "location": "location", "sticker": "sticker", "attachment.unreadable": "unreadable attachment",
        "poll": "Poll: {question}", "encrypted": "Encrypted message", "undecryptable": "Unable to decrypt: {reason}",
        "unsupported": "unsupported event: {type}", "edited": "(edited)",
        "subtitle": "{sender}: {text}", "subtitle.you": "You: {text}", "reply": "{sender}: {text}",
        "collapsed.joined": "{count} joined", "collapsed.left": "{count} left",
        "collapsed.invited": "{count} were invited",
        "collapsed.removed": "{count} were removed", "collapsed.renamed": "{count} changed their names",
        "collapsed.pictures": "{count} changed their pictures", "collapsed.other": "{count} other changes",
        "today": "Today", "yesterday": "Yesterday",
    ])
}
