import Foundation
import Testing

@testable import CommandKit
@testable import MatrixCommands

struct PushNotificationTests {
    /// A notification as Synapse sends it.
    static let full = #"""
        {"notification":{"event_id":"$e:hs","room_id":"!r:hs","type":"m.room.message","sender":"@ann:hs",
        "sender_display_name":"Ann","room_name":"Room \"1\"","room_alias":"#r:hs","user_is_target":true,
        "content":{"msgtype":"m.text","body":"a/b 👋"},"counts":{"unread":2,"missed_calls":1},"prio":"low",
        "devices":[{"app_id":"org.example","pushkey":"key-1","pushkey_ts":1,"data":{"format":"x"},
        "tweaks":{"sound":"default","highlight":true}},{"app_id":"other","pushkey":"key-2"}]}}
        """#

    private func notification(_ json: String) throws -> PushNotification {
        try PushNotification(body: Data(json.utf8))
    }

    @Test func everythingThatAHomeserverSendsIsRead() throws {
        let notification = try notification(Self.full)
        #expect(notification.roomID == "!r:hs")
        #expect(notification.eventID == "$e:hs")
        #expect(notification.type == "m.room.message")
        #expect(notification.sender == "@ann:hs")
        #expect(notification.senderDisplayName == "Ann")
        #expect(notification.roomName == #"Room "1""#)
        #expect(notification.roomAlias == "#r:hs")
        #expect(notification.content == #"{"body":"a/b 👋","msgtype":"m.text"}"#)
        #expect(notification.unread == 2)
        #expect(notification.missedCalls == 1)
        #expect(notification.priority == .low)
        #expect(notification.userIsTarget)
        #expect(
            notification.devices == [
                PushNotification.Device(
                    appID: "org.example", pushKey: "key-1", tweaks: #"{"highlight":true,"sound":"default"}"#),
                PushNotification.Device(appID: "other", pushKey: "key-2", tweaks: nil),
            ])
    }

    @Test func whatIsMissingOrOfAnotherTypeIsNil() throws {
        let counts = try notification(
            #"{"notification":{"counts":{"unread":0},"prio":7,"room_id":1,"content":"x","devices":[{"app_id":"a","pushkey":"k"}]}}"#
        )
        #expect(counts.unread == 0)
        #expect(counts.missedCalls == nil)
        #expect(counts.roomID == nil)
        #expect(counts.content == nil)
        #expect(counts.priority == .high)
        #expect(!counts.userIsTarget)
    }

    @Test(
        arguments: [
            ("", "M_NOT_JSON"), ("{", "M_NOT_JSON"), ("[]", "M_BAD_JSON"), ("{}", "M_BAD_JSON"),
            (#"{"notification":[]}"#, "M_BAD_JSON"), (#"{"notification":{}}"#, "M_BAD_JSON"),
            (#"{"notification":{"devices":[]}}"#, "M_BAD_JSON"), (#"{"notification":{"devices":[1]}}"#, "M_BAD_JSON"),
            (#"{"notification":{"devices":[{"app_id":"a"}]}}"#, "M_BAD_JSON"),
            (#"{"notification":{"devices":[{"app_id":"a","pushkey":1}]}}"#, "M_BAD_JSON"),
        ])
    func whatIsNoNotificationIsRefused(body: String, errcode: String) {
        #expect {
            try notification(body)
        } throws: {
            ($0 as? PushNotification.Malformed)?.errcode == errcode
        }
    }

    @Test func linesHaveWhatItIsAboutAndNoPushKeys() throws {
        let record = PushNotificationRecord(try notification(Self.full), at: Date(timeIntervalSince1970: 0))
        #expect(
            record.json == #"{"type":"push","time":"1970-01-01T00:00:00.000Z","channel":"matrix:!r:hs","#
                + #""event":"m.room.message","event_id":"$e:hs","sender":"@ann:hs","sender_display_name":"Ann","#
                + #""room_name":"Room \"1\"","content":{"body":"a/b 👋","msgtype":"m.text"},"unread":2,"#
                + #""missed_calls":1,"priority":"low"}"#)
        let text = record.text(style: TextStyle(isColored: false))
        #expect(
            text.text.hasSuffix(
                #"  matrix:!r:hs  m.room.message  {"body":"a/b 👋","msgtype":"m.text"}  (from @ann:hs)  2 unread"#))
        #expect(!(try notification(Self.full)).json.contains("key-"))
    }
}
