import Realtime
import Testing

@testable import CommandKit

struct RecordTests {
    /// The count at that moment: each later member has its own line.
    @Test func subscribedHasTheMembersOfItsPlaceInTheStream() {
        let event = RealtimeEvent(
            name: "pusher:subscription_succeeded", channel: "presence-x",
            data: #"{"presence":{"count":2,"ids":["a","b"],"hash":{"a":{},"b":{}}}}"#)
        guard case .subscribed("presence-x", members: 2) = Record.subscribed(to: event) else {
            Issue.record("\(Record.subscribed(to: event))")
            return
        }
    }

    @Test func aChannelWithoutPresenceHasNoMembers() {
        let event = RealtimeEvent(name: "pusher:subscription_succeeded", channel: "c", data: "{}")
        guard case .subscribed("c", members: nil) = Record.subscribed(to: event) else {
            Issue.record("\(Record.subscribed(to: event))")
            return
        }
    }
}
