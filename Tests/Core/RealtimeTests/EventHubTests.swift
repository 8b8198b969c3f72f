import Basics
import Dispatch
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Realtime

/// A source without a protocol, controlled by the test.
private final class Source: HubOwner, RealtimeEventSource {
    let hub: EventHub<SourceNotice>
    let channelPrefix = "test:"
    let holds = Lock<[String]>([])
    let losses = Lock<[String]>([])
    private let jobs = DispatchQueue(label: "jobs")

    init(_ queue: EventCallbackQueue = .own, capacity: CallbackLoad = CallbackLoad(count: 1000, byteCount: 1 << 20)) {
        hub = EventHub(queue, capacity: capacity)
    }

    func hold(for reader: EventReader) { holds.withLock { $0.append("hold \(reader.form)") } }
    func release(for reader: EventReader) { holds.withLock { $0.append("release \(reader.form)") } }
    func hold(_ isHeld: Bool) { holds.withLock { $0.append(isHeld ? "held" : "free") } }
    func lost(_ loss: EventLoss, channelName: String?) {
        losses.withLock { $0.append("\(loss) \(channelName ?? "-")") }
    }
    func execute(_ job: @escaping @Sendable () -> Void) { jobs.async { job() } }

    func say(_ names: String..., on channel: String = "test:a") {
        var events = SourceEvents()
        for name in names { events.append(name: name, channel: channel, data: "1".utf8) }
        publish(events)
    }

    func become(_ state: ConnectionState) {
        publish(SourceState(channelName: "test:", connectionState: state, underlying: 7))
    }

    var isFree: Bool { jobs.sync { holds.withLock { $0.last { $0 == "held" || $0 == "free" } != "held" } } }
}

/// Another client's hub, as a source sees it.
private final class Sink: RealtimeEventSink {
    let heard = Lock<[String]>([])

    func receive(_ events: SourceEvents) { heard.withLock { $0.append("\(events.count) events") } }
    func receive(_ failure: SourceFailure) { heard.withLock { $0.append(failure.message) } }
    func receive(_ gap: SourceGap) { heard.withLock { $0.append("gap \(gap.channelName)") } }
    func receive(_ state: SourceState) { heard.withLock { $0.append("\(state.connectionState)") } }
}

@Suite struct EventHubTests {
    private let heard = Lock<[String]>([])

    private func say(_ line: String) { heard.withLock { $0.append(line) } }

    private func hears(_ lines: String...) async -> Bool { await eventually { heard.withLock { $0 } == lines } }

    @Test func eventsAndAllElseComeInOneOrder() async {
        let source = Source()
        source.observe { event in
            say(event.eventName)
        } others: { notice in
            switch notice {
            case .events, .reached: say("a batch")
            case .stateChanged(let state): say("\(state.connectionState)")
            case .failed(let failure): say(failure.message)
            case .gap(let gap): say(gap.channelName)
            }
        }
        source.say("one")
        source.publish(SourceState(channelName: "test:", connectionState: .connected, underlying: 7))
        source.say("two", "three")
        source.publish(SourceFailure("lost"))
        source.publish(SourceGap(channelName: "test:a", start: Date(), end: Date()))
        source.say("four")
        #expect(await hears("one", "connected", "two", "three", "lost", "test:a", "four"))
    }

    @Test func globalBindingsComeFirst_andUnboundOnesNotAtAll() async {
        let source = Source()
        let channel = source.hub.channel(named: "test:a")
        let unbound = source.hub.bind(to: channel) { _ in say("unbound") }
        _ = source.hub.bind(to: channel, event: "x") { _ in say("channel x") }
        _ = source.hub.bind(to: channel) { _ in say("channel") }
        _ = source.hub.bind(to: nil) { _ in say("global") }
        unbound.map { source.hub.unbind($0, from: channel) }
        source.say("x")
        #expect(await hears("global", "channel x", "channel"))
        source.hub.unbindAll(from: channel)
        source.say("y", on: "test:b")
        #expect(await hears("global", "channel x", "channel", "global"))
    }

    /// Global queues run their blocks concurrently.
    @Test func callbacksComeOneByOneOnAConcurrentQueue() async {
        let source = Source(.queue(.global()))
        let (told, running, overlaps) = (Lock<[String]>([]), Lock(0), Lock(0))
        _ = source.hub.bind(to: nil) { event in
            let count = running.withLock { running in
                running += 1
                return running
            }
            if count > 1 { overlaps.withLock { $0 += 1 } }
            // Time for a concurrent block, if there could be one.
            letOthersRun()
            told.withLock { $0.append(event.eventName) }
            running.withLock { $0 -= 1 }
        }
        for number in 0..<50 { source.say("\(number)") }
        #expect(await eventually { told.withLock { $0.count } == 50 })
        #expect(told.withLock { $0 } == (0..<50).map(String.init) && overlaps.withLock { $0 } == 0)
    }

    @Test func sinksHearTheSame_alsoWithoutBindings() {
        let (source, sink) = (Source(), Sink())
        source.say("before")
        source.attach(sink)
        source.attach(sink)  // once
        source.say("one", "two")
        source.publish(SourceState(channelName: "test:", connectionState: .reconnecting, underlying: 7))
        source.publish(SourceFailure("lost"))
        source.publish(SourceGap(channelName: "test:a", start: Date(), end: Date()))
        source.detach(sink)
        source.say("after")
        #expect(sink.heard.withLock { $0 } == ["2 events", "reconnecting", "lost", "gap test:a"])
    }

    @Test func aSinkThatTakesNothingHoldsTheSource_untilItIsDetachedOrGone() {
        let source = Source()
        let (one, two) = (Sink(), Sink())
        source.attach(one)
        source.attach(two)
        source.hold(true, for: one)
        source.hold(true, for: two)
        source.hold(false, for: one)
        #expect(!source.isFree)
        source.detach(two)
        #expect(source.isFree)
        source.hold(true, for: two)  // it is not attached
        #expect(source.isFree)
        var three: Sink? = Sink()
        three.map { source.attach($0) }
        three.map { source.hold(true, for: $0) }
        #expect(!source.isFree)
        three = nil
        source.attach(one)
        #expect(source.isFree)
    }

    @Test func aSequenceThatIsFullHoldsItsOwnHub() async {
        let source = Source()
        let events = source.events(on: nil, channelName: nil, named: nil, policy: .suspend(limit: 2))
        source.say("one", "two", "three")
        source.runCallback { say("said") }
        #expect(await hears("said"))  // else "three" might fill what "one" has left
        #expect(source.holds.withLock { $0 } == ["hold sequence"])
        var names: [String] = []
        for await event in events {
            names.append(event.eventName)
            if names.count == 3 { break }
        }
        #expect(names == ["one", "two", "three"])
        #expect(await eventually { source.holds.withLock { $0 } == ["hold sequence", "release sequence"] })
    }

    @Test func callbacksThatWaitHoldTheHub() async {
        let source = Source(capacity: CallbackLoad(count: 4, byteCount: 1 << 20))
        let gate = DispatchSemaphore(value: 0)
        _ = source.hub.bind(to: nil) { event in
            if event.eventName == "wait" { gate.wait() }
            say(event.eventName)
        }
        source.say("wait")
        for _ in 0..<5 { source.say("more") }
        #expect(await eventually { source.holds.withLock { $0 } == ["hold callback"] })
        gate.signal()
        #expect(await hears("wait", "more", "more", "more", "more", "more"))
        #expect(await eventually { source.holds.withLock { $0 } == ["hold callback", "release callback"] })
    }

    @Test func whatHasNoBytesIsCountedAlone() async {
        let source = Source(capacity: CallbackLoad(count: 4, byteCount: 0))
        let gate = DispatchSemaphore(value: 0)
        source.observe { _ in
        } others: { _ in
            gate.wait()
        }
        for _ in 0..<3 { source.become(.connected) }
        source.runCallback { say("answer") }
        #expect(source.holds.withLock { $0 } == [])
        source.become(.connected)
        #expect(source.holds.withLock { $0 } == ["hold callback"])
        for _ in 0..<4 { gate.signal() }
        #expect(await hears("answer"))
        #expect(await eventually { source.holds.withLock { $0 } == ["hold callback", "release callback"] })
    }

    @Test func bytesThatWaitHoldTheHub_untilHalfOfThemAreGone() async {
        let source = Source(capacity: CallbackLoad(count: 100, byteCount: 100))
        let gate = DispatchSemaphore(value: 0)
        source.runCallback(load: CallbackLoad(byteCount: 20)) { gate.wait() }
        for number in 1...6 {
            source.runCallback(load: CallbackLoad(byteCount: 20)) {
                say("\(number) \(source.holds.withLock { $0.last ?? "-" })")
            }
        }
        #expect(source.holds.withLock { $0 } == ["hold callback"])
        gate.signal()
        #expect(
            await hears(
                "1 hold callback", "2 hold callback", "3 hold callback", "4 hold callback", "5 release callback",
                "6 release callback"))
    }

    @Test func aSequenceThatMayNotWaitSaysWhatItLoses() async {
        let source = Source(.inline)
        let channel = source.hub.channel(named: "test:a")
        let all = source.events(on: nil, channelName: nil, named: nil, policy: .fail(limit: 1))
        let failing = source.events(on: channel, channelName: "test:a", named: nil, policy: .fail(limit: 1))
        let dropping = source.events(on: channel, channelName: "test:a", named: nil, policy: .dropOldest(limit: 1))
        source.say("one", "two", "three")
        #expect(source.losses.withLock { $0 } == ["rest -", "rest test:a", "oldest test:a", "oldest test:a"])
        source.hub.close()
        for (events, name) in [(all, "one"), (failing, "one"), (dropping, "three")] {
            var names: [String] = []
            for await event in events { names.append(event.eventName) }
            #expect(names == [name])
        }
    }

    @Test func anObserverThatIsNotReadLosesTheOldest() async {
        let source = Source(.inline)
        let states = source.observe(limit: 1) { notice in
            if case .stateChanged(let state) = notice { state.connectionState } else { nil }
        }
        source.become(.connecting)
        source.publish(SourceFailure("not picked"))
        #expect(source.losses.withLock { $0 } == [])
        source.become(.connected)
        #expect(source.losses.withLock { $0 } == ["oldest -"])
        source.hub.close()
        var seen: [ConnectionState] = []
        for await state in states { seen.append(state) }
        #expect(seen == [.connected])
    }

    @Test func anObserverThatGoesLeavesTheOthers() {
        let source = Source(.inline)
        func observe(_ name: String) -> EventSequence<Int> {
            source.observe { _ in
                say(name)
                return nil
            }
        }
        let stays = observe("stays")
        do {
            let goes = observe("goes")
            source.become(.connecting)
            withExtendedLifetime(goes) {}
        }
        source.become(.connected)
        #expect(heard.withLock { $0 } == ["stays", "goes", "stays"])
        withExtendedLifetime(stays) {}
    }

    @Test func eachEventOfABatchGoesToItsOwnBindings() {
        let source = Source(.inline)
        let channel = source.hub.channel(named: "test:a")
        for name in ["x", "y"] {
            _ = source.hub.bind(to: channel, event: name) { event in say("\(name) gets \(event.eventName)") }
        }
        source.say("x", "y", "x", "z")
        #expect(heard.withLock { $0 } == ["x gets x", "y gets y", "x gets x"])
    }

    @Test func bindingsHearASource_andSoDoSinks() {
        let (source, sink) = (Source(), Sink())
        #expect(!source.isHeard)
        source.attach(sink)
        #expect(source.isHeard)
        source.detach(sink)
        #expect(!source.isHeard)
        _ = source.hub.bind(to: nil) { _ in }
        #expect(source.isHeard)
    }

    @Test func aClosedHubTakesNothingThatCouldHoldIt() {
        let source = Source(.inline, capacity: CallbackLoad(count: 1, byteCount: 1))
        source.hub.close()
        source.runCallback(load: CallbackLoad(count: 5)) { say("late") }
        #expect(source.holds.withLock { $0 } == [])
        #expect(heard.withLock { $0 } == [])
    }

    @Test func closingEndsSequencesAndCallbacks() async {
        let source = Source()
        let channel = source.hub.channel(named: "test:a")
        let (events, states) = (
            source.events(on: channel, channelName: "test:a", named: nil, policy: .default), source.stateChanges
        )
        _ = source.hub.bind(to: nil) { _ in say("late") }
        source.hub.close()
        source.say("x")
        source.publish(SourceState(channelName: "test:", connectionState: .connected, underlying: 7))
        for await _ in events { say("event") }
        for await _ in states { say("state") }
        #expect(source.hub.bind(to: nil) { _ in } == nil && source.hub.channel(named: "test:b") == .none)
        for await _ in source.failures { say("failure") }
        #expect(heard.withLock { $0 }.isEmpty)
    }

    /// The names are equal as `String`s.
    @Test(.regression("Two channels of a source whose names Unicode considers equal were one."))
    func channelsWhoseNamesUnicodeConsidersEqualAreTwo() {
        let source = Source()
        let (composed, decomposed) = ("test:\u{E9}", "test:e\u{301}")
        let first = source.hub.channel(named: composed)
        let second = source.hub.channel(named: decomposed)
        #expect(first != second && source.hub.channelNames.count == 2)
        #expect(source.hub.removeChannel(named: decomposed) == second)
        #expect(source.hub.channel(named: composed) == first)
    }

    @Test func removingAChannelEndsItsSequences() async {
        let source = Source()
        let channel = source.hub.channel(named: "test:a")
        let events = source.events(on: channel, channelName: "test:a", named: nil, policy: .default)
        #expect(source.hub.removeChannel(named: "test:a") == channel)
        for await _ in events {}
        source.say("x")
        #expect(source.hub.channel(named: "test:a") != channel && source.hub.channelNames == ["test:a"])
    }
}
