import Basics
import TestSupport
import Testing

@testable import Realtime

struct EventRouterTests {
    typealias ChannelID = EventRouter.ChannelID

    private let channel = ChannelID(number: 1)
    private let other = ChannelID(number: 2)
    private let log = Lock<[String]>([])

    private func handler(_ name: String) -> EventRouter.Handler {
        { [log] event in log.withLock { $0.append("\(name):\(event.eventName)") } }
    }

    private func route(_ name: String, on channel: ChannelID?, in router: inout EventRouter) -> [String] {
        let found = router.route(of: RealtimeEvent(name: name, channel: "c", data: nil), on: channel)
        for binding in found.global + found.bound {
            binding.handler(RealtimeEvent(name: name, channel: "c", data: nil))
        }
        return log.withLock { log in
            defer { log = [] }
            return log
        }
    }

    private func makeRouter() -> EventRouter {
        var router = EventRouter()
        router.addChannel(channel)
        router.addChannel(other)
        return router
    }

    /// The names are equal as `String`s.
    @Test func eventsWhoseNamesUnicodeConsidersEqualAreTwo() {
        var router = makeRouter()
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let id = router.bind(to: channel, event: composed, handler("1"))
        _ = router.bind(to: channel, event: decomposed, handler("2"))
        #expect(route(composed, on: channel, in: &router).map(\.first) == ["1"])
        #expect(route(decomposed, on: channel, in: &router).map(\.first) == ["2"])
        _ = router.unbind(id, from: channel, event: decomposed)
        #expect(route(composed, on: channel, in: &router).count == 1)
        _ = router.unbindAll(from: channel, event: composed)
        #expect(route(composed, on: channel, in: &router).isEmpty)
        #expect(route(decomposed, on: channel, in: &router).count == 1)
    }

    @Test func globalComesFirstThenTheChannelInOrderOfBinding() {
        var router = makeRouter()
        _ = router.bind(to: channel, event: "e", handler("1"))
        _ = router.bind(to: channel, event: nil, handler("2"))
        _ = router.bind(to: channel, event: "e", handler("3"))
        _ = router.bindGlobally(handler("g"))
        _ = router.bind(to: channel, event: nil, handler("4"))
        #expect(route("e", on: channel, in: &router) == ["g:e", "1:e", "2:e", "3:e", "4:e"])
        #expect(route("f", on: channel, in: &router) == ["g:f", "2:f", "4:f"])
        #expect(route("e", on: other, in: &router) == ["g:e"])
        #expect(route("e", on: nil, in: &router) == ["g:e"])
    }

    @Test func unbindingTakesOneBindingOnly() {
        var router = makeRouter()
        let first = router.bind(to: channel, event: "e", handler("1"))
        let all = router.bind(to: channel, event: nil, handler("2"))
        _ = router.bind(to: channel, event: "e", handler("3"))
        _ = router.unbind(first, from: channel, event: "other")
        #expect(route("e", on: channel, in: &router) == ["1:e", "2:e", "3:e"])
        _ = router.unbind(first, from: channel, event: "e")
        #expect(route("e", on: channel, in: &router) == ["2:e", "3:e"])
        _ = router.unbind(all, from: channel, event: "e")  // bound to all events, not to this one
        #expect(route("e", on: channel, in: &router) == ["2:e", "3:e"])
        _ = router.unbind(all, from: channel)
        #expect(route("e", on: channel, in: &router) == ["3:e"])
        #expect(route("f", on: channel, in: &router) == [])
    }

    @Test func unbindingGloballyTakesOneBindingOnly() {
        var router = makeRouter()
        let first = router.bindGlobally(handler("1"))
        let second = router.bindGlobally(handler("2"))
        #expect(first != second)
        #expect(router.unbindGlobally(first).map(\.id) == [first])
        #expect(route("e", on: channel, in: &router) == ["2:e"])
        #expect(router.unbindGlobally(first).isEmpty)
        #expect(router.unbindAllGlobally().map(\.id) == [second])
        #expect(route("e", on: channel, in: &router) == [])
    }

    /// The caller releases them outside of any lock.
    @Test func whatIsUnboundIsHandedBack() {
        var router = makeRouter()
        let first = router.bind(to: channel, event: "e", handler("1"))
        let all = router.bind(to: channel, event: nil, handler("2"))
        #expect(router.unbind(first, from: channel, event: "e").contains { $0.id == first })
        #expect(Set(router.unbind(all, from: channel).map(\.id)) == [all])
        let second = router.bind(to: channel, event: "e", handler("3"))
        #expect(Set(router.unbindAll(from: channel, event: "e").map(\.id)) == [second])
        let third = router.bind(to: channel, event: "f", handler("4"))
        #expect(Set(router.unbindAll(from: channel).map(\.id)) == [third])
        let last = router.bind(to: channel, event: nil, handler("5"))
        #expect(Set(router.removeChannel(channel).map(\.id)) == [last])
        #expect(router.removeChannel(channel).isEmpty)
        #expect(!router.hasChannel(channel) && router.hasChannel(other))
    }

    @Test func bindingsOfAnyKindAreBindings() {
        var router = makeRouter()
        #expect(!router.hasBindings)
        let binds: [(inout EventRouter) -> EventRouter.BindingID] = [
            { [channel] in $0.bind(to: channel, event: nil) { _ in } },
            { [channel] in $0.bind(to: channel, event: "e") { _ in } }, { $0.bindGlobally { _ in } },
        ]
        for bind in binds {
            let id = bind(&router)
            #expect(router.hasBindings)
            _ = (router.unbind(id, from: channel), router.unbindGlobally(id))
            #expect(!router.hasBindings)
        }
    }

    @Test func aChannelThatIsThereKeepsItsBindings() {
        var router = makeRouter()
        _ = router.bind(to: channel, event: "e", handler("1"))
        router.addChannel(channel)
        #expect(route("e", on: channel, in: &router) == ["1:e"])
    }

    /// Readers of sequences come first, since other application code may wait for them.
    @Test func readersAreWokenBeforeOtherCodeRuns() {
        let wakeUps = ReaderWakeUps()
        var router = makeRouter()
        _ = router.bind(to: channel, event: "e", isOfSequence: true) { [log] _ in
            log.withLock { $0.append("sequence") }
            wakeUps.add { log.withLock { $0.append("woken") } }
        }
        _ = router.bind(to: channel, event: "e", handler("1"))
        _ = router.bind(to: channel, event: "e", handler("2"))
        _ = router.bindGlobally(handler("g"))
        let event = RealtimeEvent(name: "e", channel: "c", data: nil)
        router.route(of: event, on: channel).call(event, version: router.version, wakeUps: wakeUps) { _ in true }
        #expect(log.withLock { $0 } == ["g:e", "sequence", "woken", "1:e", "2:e"])
        wakeUps.run()
        #expect(log.withLock { $0.count } == 5)
    }

    @Test func aReaderIsWokenOnceForEachTimeItIsToBe() {
        let wakeUps = ReaderWakeUps()
        for name in ["a", "b"] {
            wakeUps.add { [log] in log.withLock { $0.append(name) } }
            wakeUps.run()
        }
        #expect(log.withLock { $0 } == ["a", "b"])
    }

    /// Once something was unbound, a channel's bindings are called only while the channel exists.
    @Test func aChannelThatIsLeftOnTheWayGetsNoMore() {
        var router = makeRouter()
        let routers = Lock(router)
        for name in ["1", "2"] {
            _ = router.bind(to: channel, event: "e") { [log, channel] _ in
                log.withLock { $0.append(name) }
                _ = routers.withLock { $0.removeChannel(channel) }
            }
        }
        let event = RealtimeEvent(name: "e", channel: "c", data: nil)
        let route = router.route(of: event, on: channel)
        route.call(event, version: router.version, wakeUps: ReaderWakeUps()) { _ in false }
        #expect(log.withLock { $0 } == ["1"])
        route.call(event, version: router.version, wakeUps: ReaderWakeUps()) { _ in true }
        #expect(log.withLock { $0 } == ["1", "1", "2"])
    }

    @Test func unbindingWhatIsNotBoundChangesNothing() {
        var router = makeRouter()
        _ = router.bind(to: channel, event: "e", handler("1"))
        _ = router.unbind(EventRouter.BindingID(number: 99), from: channel, event: "e")
        _ = router.unbind(EventRouter.BindingID(number: 99), from: ChannelID(number: 99))
        _ = router.unbindGlobally(EventRouter.BindingID(number: 1))
        #expect(route("e", on: channel, in: &router) == ["1:e"])
    }

    @Test func unbindingAllOfAnEventKeepsTheBindingsToAllEvents() {
        var router = makeRouter()
        _ = router.bind(to: channel, event: "e", handler("1"))
        _ = router.bind(to: channel, event: nil, handler("2"))
        _ = router.unbindAll(from: channel, event: "e")
        #expect(route("e", on: channel, in: &router) == ["2:e"])
        _ = router.unbindAll(from: channel)
        #expect(route("e", on: channel, in: &router) == [])
    }

    @Test func aRemovedChannelGetsNothingAndTakesNoBindings() {
        var router = makeRouter()
        _ = router.bindGlobally(handler("g"))
        _ = router.removeChannel(channel)
        #expect(route("e", on: channel, in: &router) == [])
        _ = router.bind(to: channel, event: "e", handler("1"))
        _ = router.bind(to: channel, event: nil, handler("2"))
        #expect(route("e", on: channel, in: &router) == [])
    }

    @Test(arguments: ["constructor", "toString", "hasOwnProperty", "", "App\\Events\\Thing", "ü☃"])
    func anyTextIsAnOrdinaryEventName(name: String) {
        var router = makeRouter()
        _ = router.bind(to: channel, event: name, handler("1"))
        #expect(route(name, on: channel, in: &router) == ["1:\(name)"])
        #expect(route(name + "x", on: channel, in: &router) == [])
    }

    @Test func unbindingAllLeavesSequencesAlone() {
        var router = makeRouter()
        _ = router.bindGlobally(isOfSequence: true, handler("global"))
        _ = router.bind(to: channel, event: "e", isOfSequence: true, handler("1"))
        _ = router.bind(to: channel, event: nil, isOfSequence: true, handler("2"))
        _ = router.bind(to: channel, event: "e", handler("3"))
        _ = router.unbindAll(from: channel, event: "e")
        #expect(route("e", on: channel, in: &router) == ["global:e", "1:e", "2:e"])
        _ = router.bind(to: channel, event: nil, handler("4"))
        _ = router.unbindAll(from: channel)
        _ = router.unbindAllGlobally()
        #expect(route("e", on: channel, in: &router) == ["global:e", "1:e", "2:e"])
        #expect(route("f", on: channel, in: &router) == ["global:f", "2:f"])
    }

    @Test func aRouteIsGoodUntilSomethingIsBoundOrUnbound() {
        var router = makeRouter()
        let event = RealtimeEvent(name: "e", channel: "c", data: nil)
        let binding = router.bind(to: channel, event: "e", handler("1"))
        var route = router.route(of: event, on: channel)
        #expect(route.isValid(for: event, on: channel, version: router.version.value))
        #expect(!route.isValid(for: event, on: other, version: router.version.value))
        #expect(!route.isValid(for: event.renamed("f"), on: channel, version: router.version.value))
        let changes: [(inout EventRouter) -> Void] = [
            { _ = $0.bindGlobally { _ in } }, { [channel] in _ = $0.bind(to: channel, event: nil) { _ in } },
            { [channel] in _ = $0.unbind(binding, from: channel) }, { [channel] in _ = $0.removeChannel(channel) },
        ]
        for change in changes {
            route = router.route(of: event, on: channel)
            change(&router)
            #expect(!route.isValid(for: event, on: channel, version: router.version.value))
        }
    }

    @Test func aChannelsRouteIsKeptAndHoldsNothingThatIsUnbound() {
        final class Token: Sendable {}
        var router = makeRouter()
        let event = RealtimeEvent(name: "e", channel: "c", data: nil)
        _ = router.bind(to: other, event: "e", handler("other"))
        weak var token: Token?
        do {
            let held = Token()
            token = held
            _ = router.bind(to: channel, event: "e") { _ in _ = held }
        }
        do {
            let route = router.route(of: event, on: channel)
            _ = router.route(of: event, on: other)
            #expect(router.route(of: event, on: channel) === route)
        }
        #expect(router.route(of: event.renamed("f"), on: channel).bound.isEmpty)
        #expect(token != nil)
        _ = router.unbindAll(from: channel)
        #expect(token == nil)
        #expect(self.route("e", on: other, in: &router) == ["other:e"])
    }
}
