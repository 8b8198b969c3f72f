import Foundation
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixKit

/// Events as text, in a fixed language, locale and time zone.
@MainActor @Suite struct EventTextTests {
    private func text(
        _ type: String, _ content: String, sender: String = "@b:s", key: String? = nil, unsigned: String? = nil,
        _ change: (MXKEventFormatter) -> Void = { _ in }
    ) throws -> (text: String?, error: MXKEventFormatterError) {
        var story = try Story()
        let event = try story.add(type, sender, content, key: key, unsigned: unsigned)
        let script = BubbleScript()
        change(script.source.formatter)
        var error = MXKEventFormatterError.none
        return (script.source.formatter.string(from: event, with: story.states[0], error: &error), error)
    }

    @Test(
        arguments: [
            ("m.room.name", #"{"name":"Den"}"#, "Bob named the room Den"),
            ("m.room.name", "{}", "Bob removed the room's name"),
            ("m.room.topic", #"{"topic":"T"}"#, "Bob set the topic: T"),
            ("m.room.topic", "{}", "Bob removed the topic"),
            ("m.room.create", "{}", "Bob created the room"),
            ("m.room.join_rules", #"{"join_rule":"public"}"#, "Bob let everybody join"),
            ("m.room.join_rules", #"{"join_rule":"restricted"}"#, "Bob changed who can join: restricted"),
            (
                "m.room.history_visibility", #"{"history_visibility":"shared"}"#,
                "Bob let all members read the whole history"
            ),
            ("m.room.encryption", #"{"algorithm":"m.megolm.v1.aes-sha2"}"#, "Bob turned encryption on"),
            ("m.room.encryption", #"{"algorithm":"x"}"#, "Bob turned encryption on, of an unknown kind: x"),
            ("m.room.power_levels", #"{"users":{"@c:s":50}}"#, "Bob set the power levels: Carol 50"),
            ("m.room.canonical_alias", ##"{"alias":"#a:s"}"##, "Addresses of the room: #a:s"),
            ("m.room.guest_access", #"{"guest_access":"forbidden"}"#, "Bob no longer lets guests join"),
            ("m.room.tombstone", #"{"body":"moved"}"#, "Bob replaced the room by another: moved"),
            ("m.room.history_visibility", #"{"history_visibility":7}"#, nil), ("m.room.join_rules", "{}", nil),
        ] as [(String, String, String?)])
    func whatHappensToTheRoom(type: String, content: String, text: String?) throws {
        #expect(try self.text(type, content, key: "").text == text)
        let own = try self.text(type, content, sender: "@a:s", key: "").text
        if let text, text.hasPrefix("Bob") { #expect(own?.hasPrefix("You ") == true) }
    }

    @Test(
        arguments: [
            (#"{"msgtype":"m.text","body":"hello"}"#, "hello"), (#"{"msgtype":"m.notice","body":"beep"}"#, "beep"),
            (#"{"msgtype":"m.emote","body":"waves"}"#, "* Bob waves"),
            (#"{"msgtype":"m.image","body":"x"}"#, "unreadable attachment"),
            (#"{"msgtype":"m.image","body":"","url":"mxc://s/i"}"#, "image"),
            (#"{"msgtype":"m.location","body":"home","geo_uri":"geo:1,2"}"#, "home"),
            (#"{"msgtype":"m.text","body":""}"#, nil), (#"{"msgtype":"m.text"}"#, nil), ("{}", nil),
            (#"{"body":7}"#, nil),
        ] as [(String, String?)])
    func messages(content: String, text: String?) throws {
        #expect(try self.text("m.room.message", content).text == text)
    }

    @Test func whatNobodyKnowsIsNotShown_unlessItShould() throws {
        let plain = try text("org.example", "{}")
        #expect(plain.text == nil && plain.error == .unknownEventType)
        let shown = try text("org.example", "{}") { $0.settings.showUnsupportedEventsInRoomHistory = true }
        #expect(shown.text == "unsupported event: org.example")
        #expect(try text("m.room.message", "{}").error == .unexpected)
    }

    @Test func redactions() throws {
        func redacted(by sender: String, reason: String = "") throws -> String? {
            try text(
                "m.room.message", "{}",
                unsigned:
                    #"{"redacted_because":{"type":"m.room.redaction","sender":"\#(sender)","content":{\#(reason)}}}"#
            ) { $0.settings.showRedactionsInRoomHistory = true }.text
        }
        #expect(try redacted(by: "@b:s") == "message deleted")
        #expect(try redacted(by: "@c:s") == "message deleted by Carol")
        #expect(try redacted(by: "@c:s", reason: #""reason":"rude""#) == "message deleted by Carol. Reason: rude")
    }

    @Test func whatCannotBeDecryptedSaysWhy() throws {
        var story = try Story()
        let event = try story.encrypted()
        let formatter = BubbleScript().source.formatter
        #expect(formatter.string(from: event, with: story.states[0], error: nil) == "Encrypted message")
        let failed = event.withDecryptionError(.unknownSession)
        let text = try #require(formatter.string(from: failed, with: story.states[0], error: nil))
        #expect(text.hasPrefix("Unable to decrypt: ") && text.count > "Unable to decrypt: ".count)
        formatter.settings.hideUndecryptableEvents = true
        #expect(formatter.string(from: failed, with: story.states[0], error: nil) == nil)
    }

    @Test func anotherLanguageFallsBackToEnglish() throws {
        let french = MXKLanguage(words: ["topic.set": "{sender} a choisi le sujet : {topic}"])
        let said = try text("m.room.topic", #"{"topic":"T"}"#, key: "") { $0.language = french }
        #expect(said.text == "Bob a choisi le sujet : T")
        let fallback = try text("m.room.name", #"{"name":"N"}"#, key: "") { $0.language = french }
        #expect(fallback.text == "Bob named the room N")
    }

    @Test func everyWordOfEnglishNamesOnlyWhatIsFilledIn() {
        for key in MXKLanguage.english.keys { #expect(!MXKLanguage.english.text(key).contains("{")) }
    }

    // MARK: Dates

    @Test(
        arguments: [("UTC", "09:00", 0), ("Asia/Tokyo", "18:00", 0), ("America/New_York", "04:00", 0)]
            as [(String, String, Int)])
    func timesAreThoseOfTheZone(zone: String, time: String, _: Int) {
        let formatter = BubbleScript.formatter(nil, zone: zone)
        #expect(formatter.timeString(from: Date(timeIntervalSince1970: Double(Story.morning) / 1000)) == time)
    }

    @Test func daysOfTheYearAndOfOthers() {
        var dates = DateTexts(locale: Locale(identifier: "en_GB"), timeZone: TimeZone(identifier: "UTC") ?? .gmt)
        let now = Date(timeIntervalSince1970: Double(Story.morning) / 1000)
        dates.now = { now }
        #expect(dates.short(now, withTime: false) == "09:00")
        #expect(dates.short(now - 86_400, withTime: false) == "20 Nov")
        #expect(dates.short(now - 86_400, withTime: true) == "20 Nov 09:00")
        #expect(dates.short(now - 400 * 86_400, withTime: false) == "17 Oct 2025")
        #expect(dates.daysAgo(now) == 0 && dates.daysAgo(now - 86_400) == 1 && dates.daysAgo(now + 86_400) == nil)
        #expect(dates.isSameDay(now, now + 3600 * 14) && !dates.isSameDay(now, now + 3600 * 15))
    }
}
