import Basics
import Testing

@testable import Realtime

/// A client's requests to its attached sources.
struct AttachedSourcesTests {
    private let client = Client()
    private let source = Source()

    private func sequence(of event: String) -> EventSequence<RealtimeEvent> {
        let channel = client.hub.channel(named: "test:a")
        return client.events(on: channel, channelName: "test:a", named: event, policy: .suspend(limit: 1))
    }

    private func say(_ name: String) {
        var events = SourceEvents()
        events.append(name: name, channel: "test:a", data: "1".utf8)
        client.receive(events)
    }

    @Test func theFirstReaderThatIsFullHoldsASource_andTheLastLetsItGo() async {
        client.attach(source)
        var (one, two) = (sequence(of: "one").makeAsyncIterator(), sequence(of: "two").makeAsyncIterator())
        say("one")
        #expect(source.calls == ["attach", "hold"])
        say("two")
        _ = await one.next()
        #expect(source.calls == ["attach", "hold"])
        _ = await two.next()
        #expect(source.calls == ["attach", "hold", "release"])
        say("one")
        #expect(source.calls == ["attach", "hold", "release", "hold"])
    }

    @Test func aSourceThatComesWhileAReaderIsFullIsHeldAtOnce() async {
        var events = sequence(of: "e").makeAsyncIterator()
        say("e")
        client.attach(source)
        #expect(source.calls == ["attach", "hold"])
        _ = await events.next()
        #expect(source.calls == ["attach", "hold", "release"])
    }

    @Test func aSourceIsAttachedOnce_andAgainOnceItWasDetached() {
        for _ in 0..<2 { client.attach(source) }
        #expect(client.hub.sourcePrefixes == ["test:"])
        client.detach(source)
        #expect(client.hub.sourcePrefixes == [])
        client.attach(source)
        #expect(source.calls == ["attach", "detach", "attach"])
    }

    @Test func aSourceThatWasDetachedIsNotHeld() {
        let other = Source()
        client.attach(source)
        client.attach(other)
        client.detach(source)
        let events = sequence(of: "e")
        say("e")
        #expect(source.calls == ["attach", "detach"])
        #expect(other.calls == ["attach", "hold"])
        withExtendedLifetime(events) {}
    }

    @Test func aClientThatEndsLeavesItsSources_andTakesNoOther() {
        let other = Source()
        client.attach(source)
        client.detachAll()
        client.hub.close()
        client.attach(other)
        #expect(source.calls == ["attach", "detach"])
        #expect(other.calls == [])
    }
}

/// A client as a source sees it; runs everything on one thread.
private final class Client: HubOwner, RealtimeEventSink {
    let hub = EventHub<SourceNotice>(.inline, capacity: CallbackLoad(count: 1000, byteCount: 1 << 20))

    func hold(for reader: EventReader) {}
    func release(for reader: EventReader) {}
    func lost(_ loss: EventLoss, channelName: String?) {}
    func execute(_ job: @escaping @Sendable () -> Void) { job() }

    func receive(_ events: SourceEvents) { publish(events) }
    func receive(_ failure: SourceFailure) {}
    func receive(_ gap: SourceGap) {}
}

private final class Source: RealtimeEventSource {
    let channelPrefix = "test:"
    private let log = Lock<[String]>([])

    var calls: [String] { log.withLock { $0 } }

    func attach(_ sink: any RealtimeEventSink) { log.withLock { $0.append("attach") } }
    func detach(_ sink: any RealtimeEventSink) { log.withLock { $0.append("detach") } }
    func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) {
        log.withLock { $0.append(isHeld ? "hold" : "release") }
    }
}
