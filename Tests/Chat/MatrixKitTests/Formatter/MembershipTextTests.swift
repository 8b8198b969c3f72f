import Foundation
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixKit

/// Every change of a membership: by the user, to the user, and between others; with and without a reason.
@MainActor @Suite struct MembershipTextTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let before: String?
        let after: String
        let sender: String
        let target: String
        let text: String
        var testDescription: String { "\(before ?? "nothing") to \(after): \(text)" }
    }

    private nonisolated static func rows(
        _ before: String?, _ after: String, byThemselves: Bool, you: String, me: String? = nil, other: String
    ) -> [Row] {
        if byThemselves {
            return [
                Row(before: before, after: after, sender: "@a:s", target: "@a:s", text: you),
                Row(before: before, after: after, sender: "@b:s", target: "@b:s", text: other),
            ]
        }
        return [
            Row(before: before, after: after, sender: "@a:s", target: "@b:s", text: you),
            Row(before: before, after: after, sender: "@b:s", target: "@a:s", text: me ?? other),
            Row(before: before, after: after, sender: "@b:s", target: "@c:s", text: other),
        ]
    }

    nonisolated static let rows: [Row] = [
        rows(nil, "join", byThemselves: true, you: "You joined", other: "Bob joined"),
        rows("invite", "join", byThemselves: true, you: "You joined", other: "Bob joined"),
        rows("leave", "join", byThemselves: true, you: "You joined", other: "Bob joined"),
        rows("ban", "join", byThemselves: true, you: "You joined", other: "Bob joined"),
        rows(nil, "knock", byThemselves: true, you: "You asked to join", other: "Bob asked to join"),
        rows("join", "leave", byThemselves: true, you: "You left", other: "Bob left"),
        rows(
            "invite", "leave", byThemselves: true, you: "You declined the invitation",
            other: "Bob declined the invitation"),
        rows(
            "knock", "leave", byThemselves: true, you: "You no longer ask to join", other: "Bob no longer asks to join"),
        rows(
            nil, "invite", byThemselves: false, you: "You invited Bob", me: "Bob invited you",
            other: "Bob invited Carol"),
        rows(
            "leave", "invite", byThemselves: false, you: "You invited Bob", me: "Bob invited you",
            other: "Bob invited Carol"),
        rows(
            "join", "leave", byThemselves: false, you: "You removed Bob", me: "Bob removed you",
            other: "Bob removed Carol"),
        rows(
            "invite", "leave", byThemselves: false, you: "You took back the invitation of Bob",
            me: "Bob took back your invitation", other: "Bob took back the invitation of Carol"),
        rows(
            "knock", "leave", byThemselves: false, you: "You did not let Bob in", me: "Bob did not let you in",
            other: "Bob did not let Carol in"),
        rows(
            "join", "ban", byThemselves: false, you: "You banned Bob", me: "Bob banned you", other: "Bob banned Carol"),
        rows(
            "leave", "ban", byThemselves: false, you: "You banned Bob", me: "Bob banned you", other: "Bob banned Carol"),
        rows(
            "ban", "leave", byThemselves: false, you: "You unbanned Bob", me: "Bob unbanned you",
            other: "Bob unbanned Carol"),
    ].flatMap { $0 }

    private func text(_ row: Row, reason: String?) throws -> String? {
        var story = try Story()
        try story.say("now")
        let reason = reason.map { #","reason":"\#($0)""# } ?? ""
        let before = row.before.map { #"{"prev_content":{"membership":"\#($0)"}}"# }
        let event = try Story.event(
            "m.room.member", "$x", row.sender, #"{"membership":"\#(row.after)"\#(reason)}"#, Story.morning,
            key: row.target,
            unsigned: before)
        let script = BubbleScript()
        return script.source.formatter.string(from: event, with: story.states[0], error: nil)
    }

    @Test(arguments: rows) func isPutIntoWords(row: Row) throws { #expect(try text(row, reason: nil) == row.text) }

    @Test(arguments: rows) func theReasonIsSaid(row: Row) throws {
        #expect(try text(row, reason: "Spam") == row.text + ". Reason: Spam")
    }

    @Test(
        arguments: [
            (#""displayname":"New""#, #""displayname":"Old""#, "Old is now called New"),
            (#""displayname":"New""#, "", "Bob is now called New"),
            ("", #""displayname":"Old""#, "Old no longer has a name"),
            (#""avatar_url":"mxc://s/n""#, #""avatar_url":"mxc://s/o""#, "Bob has a new picture"),
            (
                #""displayname":"New","avatar_url":"mxc://s/n""#, #""displayname":"Old""#,
                "Old is now called New and has a new picture"
            ), ("", "", nil),
        ] as [(String, String, String?)])
    func aProfileChanges(new: String, old: String, text: String?) throws {
        func content(_ fields: String) -> String { #"{"membership":"join"\#(fields.isEmpty ? "" : ",")\#(fields)}"# }
        var story = try Story()
        let event = try story.add(
            "m.room.member", "@b:s", content(new), key: "@b:s", unsigned: #"{"prev_content":\#(content(old))}"#)
        let script = BubbleScript()
        #expect(script.source.formatter.string(from: event, with: story.states[0], error: nil) == text)
    }
}
