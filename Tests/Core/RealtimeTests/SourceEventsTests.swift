import Realtime
import Testing

/// Events assembled by a source come out unchanged.
struct SourceEventsTests {
    private func batch(_ change: (inout SourceEvents) -> Void) -> EventBatch {
        var events = SourceEvents()
        change(&events)
        return events.batch { $0 == "m:a" ? EventRouter.ChannelID(number: 7) : nil }
    }

    @Test func everyPartOfAnEventIsKept() {
        let batch = batch {
            $0.append(name: "before", channel: "m:b", data: Array("x".utf8))
            $0.append(
                name: "m.text", channel: "m:a", data: Array(#"{"a":1}"#.utf8), userId: "@u:s", notifies: true,
                highlights: true)
        }
        let (event, channel) = batch[1]
        #expect(event.eventName == "m.text")
        #expect(event.channelName == "m:a")
        #expect(event.data == #"{"a":1}"#)
        #expect(event.userId == "@u:s")
        #expect(event.notify && event.highlight)
        #expect(event.origin == .live)
        #expect(event.frame == nil)
        #expect(channel == EventRouter.ChannelID(number: 7))
    }

    @Test func whatIsNotThereIsNotThere() {
        let batch = batch { $0.append(name: "state", channel: nil, data: [UInt8]?.none) }
        let (event, channel) = batch[0]
        #expect(event.eventName == "state")
        #expect(event.channelName == nil && event.data == nil && event.userId == nil)
        #expect(!event.notify && !event.highlight)
        #expect(channel == nil)
    }

    @Test func emptyDataIsNotAbsent() {
        let batch = batch { $0.append(name: "e", channel: "", data: [], userId: "") }
        #expect(batch[0].event.data == "")
        #expect(batch[0].event.channelName == "")
        #expect(batch[0].event.userId == "")
    }

    @Test func notifyingAndHighlightingAreTwoThings() {
        let batch = batch {
            $0.append(name: "e", channel: nil, data: [0x31], notifies: true)
            $0.append(name: "e", channel: nil, data: [0x31], highlights: true)
        }
        #expect(batch.map(\.event.notify) == [true, false])
        #expect(batch.map(\.event.highlight) == [false, true])
    }

    @Test func theyAreCountedAndGivenInOrder() {
        var events = SourceEvents()
        #expect(events.isEmpty && events.count == 0)
        for number in 1...3 { events.append(name: "\(number)", channel: "m:a", data: [UInt8]()) }
        #expect(!events.isEmpty && events.count == 3)
        let batch = events.batch { _ in nil }
        #expect(batch.map(\.event.eventName) == ["1", "2", "3"])
        #expect((batch.startIndex, batch.endIndex) == (0, 3))
        var seen: [String] = []
        batch.forEach { event, _, isLikeTheLast in seen.append("\(event.eventName) \(isLikeTheLast)") }
        #expect(seen == ["1 false", "2 false", "3 false"])
    }
}
