import Basics
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

/// A source controlled by the test.
private final class ScriptedSource: RealtimeEventSource {
    private struct State {
        weak var sink: (any RealtimeEventSink)?
        var isHeld = false
    }

    let channelPrefix = "matrix:"
    private let state = Lock(State())

    var isHeld: Bool { state.withLock { $0.isHeld } }
    var sink: (any RealtimeEventSink)? { state.withLock { $0.sink } }

    func attach(_ sink: any RealtimeEventSink) { state.withLock { $0.sink = sink } }

    func detach(_ sink: any RealtimeEventSink) { state.withLock { $0 = State() } }

    func hold(_ isHeld: Bool, for sink: any RealtimeEventSink) { state.withLock { $0.isHeld = isHeld } }

    func say(_ names: [String], on channel: String = "matrix:!room:hs", notifies: Bool = false) {
        var events = SourceEvents()
        for name in names {
            events.append(
                name: name, channel: channel, data: #"{"body":"\#(name)"}"#.utf8, userId: "@alice:hs",
                notifies: notifies)
        }
        sink?.receive(events)
    }
}

@Suite struct SourceTests {
    private let pusher = Pusher(key: "key")
    private let source = ScriptedSource()
    private let room = "matrix:!room:hs"

    @Test func itsEventsReachGlobalAndChannelBindingsInOrder_withoutAnyPusherConnection() async throws {
        let seen = Recorder()
        pusher.bind { (event: PusherEvent) in seen.add("global \(event.eventName)") }
        pusher.subscribe(room).bind(eventName: "m.room.message") { (event: PusherEvent) in
            seen.add("room \(event.eventName) \(event.channelName ?? "") \(event.userId ?? "") \(event.data ?? "")")
        }
        pusher.attach(source)
        source.say(["m.room.message", "m.typing"])
        #expect(await eventually { seen.all.count == 3 })
        #expect(
            seen.all == [
                "global m.room.message",
                #"room m.room.message matrix:!room:hs @alice:hs {"body":"m.room.message"}"#,
                "global m.typing",
            ])
    }

    @Test func theFlagsOfAnEventArriveWithIt() async throws {
        let seen = Recorder()
        pusher.bind { (event: PusherEvent) in seen.add("\(event.eventName) \(event.notify) \(event.highlight)") }
        pusher.attach(source)
        source.say(["quiet"])
        source.say(["loud"], notifies: true)
        #expect(await eventually { seen.all.count == 2 })
        #expect(seen.all == ["quiet false false", "loud true false"])
    }

    @Test func aChannelOfASourceIsOneObject_andSubscribedWhileItsSourceIsAttached() async throws {
        let channel = pusher.subscribe(room)
        #expect(pusher.channel(room) === channel)
        #expect(pusher.channel("prices") == nil)
        #expect(!channel.subscribed)
        pusher.attach(source)
        #expect(channel.subscribed)
        try await channel.subscribed()
        pusher.unsubscribe(room)
        #expect(pusher.subscribe(room) !== channel)
    }

    @Test func afterUnsubscribingItsBindingsGetNothing() async throws {
        let seen = Recorder()
        pusher.attach(source)
        pusher.subscribe(room).bind { (event: PusherEvent) in seen.add("room") }
        pusher.bind { (event: PusherEvent) in seen.add("global") }
        pusher.unsubscribe(room)
        source.say(["m.room.message"])
        #expect(await eventually { !seen.all.isEmpty })
        #expect(seen.all == ["global"])
    }

    @Test func aDetachedSourceHasNoSink_norOneWhoseClientIsGone() {
        pusher.attach(source)
        #expect(source.sink != nil)
        pusher.detach(source)
        #expect(source.sink == nil)
        var other: Pusher? = Pusher(key: "key")
        other?.attach(source)
        other = nil
        #expect(source.sink == nil)
    }

    @Test func aSlowReaderHoldsTheSource_andLetsItGoOn() async throws {
        pusher.attach(source)
        let events = pusher.subscribe(room).events(buffering: .suspend(limit: 4))
        source.say((0..<10).map { "event\($0)" })
        #expect(await eventually { source.isHeld })
        var names: [String] = []
        for await event in events {
            names.append(event.eventName)
            if names.count == 10 { break }
        }
        #expect(names == (0..<10).map { "event\($0)" })
        #expect(await eventually { !source.isHeld })
    }

    @Test func whatGoesWrongAtASourceIsReportedOnce() async throws {
        let errors = pusher.errors
        pusher.attach(source)
        source.sink?.receive(
            SourceFailure("the homeserver is not there", channelName: room, willRetry: true, retryAfter: .seconds(2)))
        var iterator = errors.makeAsyncIterator()
        let error = await iterator.next()
        #expect(error?.kind == .sourceFailed)
        #expect(error?.description == "channel \(room): the homeserver is not there; will retry in 2.0 s")
    }

    private struct Refused: Error, Equatable {
        let status: Int
    }

    @Test func statesAndErrorsOfASourceKeepTheirTypes() async throws {
        enum State { case running }
        pusher.attach(source)
        var states = pusher.sourceStates.makeAsyncIterator()
        var errors = pusher.errors.makeAsyncIterator()
        source.sink?.receive(
            SourceState(channelName: "matrix:@a:hs", connectionState: .connected, underlying: State.running))
        source.sink?.receive(SourceFailure("refused", underlying: Refused(status: 403)))
        let state = await states.next()
        #expect(state?.channelName == "matrix:@a:hs" && state?.connectionState == .connected)
        #expect(state?.underlying as? State == .running)
        #expect(await errors.next()?.underlying as? Refused == Refused(status: 403))
    }

    @Test func aGapIsToldToTheWholeClient_alsoWhenNobodyHasBoundToItsChannel() async throws {
        pusher.attach(source)
        var gaps = pusher.gaps.makeAsyncIterator()
        source.sink?.receive(SourceGap(channelName: room, start: Date(timeIntervalSinceNow: -60), end: Date()))
        #expect(await gaps.next()?.channelName == room)
    }

    @Test func aGapReachesTheChannelsHandler() async throws {
        let seen = Recorder()
        pusher.attach(source)
        pusher.subscribe(room).onGap = {
            seen.add("\($0.channelName) \(Int($0.end.timeIntervalSince($0.start).rounded()))")
        }
        source.sink?.receive(SourceGap(channelName: room, start: Date(timeIntervalSinceNow: -60), end: Date()))
        #expect(await eventually { !seen.all.isEmpty })
        #expect(seen.all == ["\(room) 60"])
    }

    @Test func aNameWithAColonOfNoSourceIsRefusedAsBefore() async throws {
        var errors = pusher.errors.makeAsyncIterator()
        pusher.subscribe("other:thing")
        #expect(await errors.next()?.kind == .invalidArgument)
    }
}
