import Basics
import PydioProtocol
import Realtime
import TestSupport
import Testing

@Suite struct WorkspaceLoopSocketTests {
    private static let webSocket = WorkspaceServices.WebSocket(url: "ws://s:8090/ws", host: "s", isSecure: false)
    private static let services = WorkspaceServices(webSocket: webSocket)
    private static let withFeed = WorkspaceServices(hasFeed: true, webSocket: webSocket)
    private var script = LoopScript { $0.socket.reconnectPolicy = .quadratic() }
    private let first = ConnectionMachine.TransportID(number: 1)

    private mutating func heard(
        _ id: ConnectionMachine.TransportID, isWoken: Bool = false
    ) -> [WorkspaceLoop.Action] {
        script.note(script.loop.socketHeard(id, isWoken: isWoken, now: script.now))
    }

    private mutating func ended(_ id: ConnectionMachine.TransportID) -> [WorkspaceLoop.Action] {
        script.note(script.loop.socketEnded(id, now: script.now))
    }

    /// Runs until the WebSocket has taken over.
    private mutating func live(_ services: WorkspaceServices) -> [WorkspaceLoop.Action] {
        _ = script.open(services)
        _ = heard(first)
        return script.answer(.nothingNew)
    }

    @Test mutating func itIsOpenedOnceThingsAreKnown_andTakesOverWhenItHasProvedItself() {
        _ = script.open(Self.services)
        #expect(
            script.lastActions == [
                .changed(from: .connecting, to: .connected), .openSocket(first, Self.webSocket),
            ])
        #expect(heard(first) == [script.perform(.consumeLast)])
        #expect(script.answer(.nothingNew) == [.socketTakesOver])
        // Only the mailbox is polled, every half minute.
        #expect(script.pass(.seconds(29)) == [])
        #expect(script.pass(.seconds(1)) == [.pingSocket(first)])
        #expect(heard(first) == [])
        #expect(script.pass(.seconds(30)) == [.pingSocket(first)])
    }

    @Test mutating func polledMeanwhile_aServerThatClosesAfterOpeningCostsNothing() {
        _ = script.open(Self.services)
        #expect(ended(first) == [.socketFailed(retryAfter: .zero)])
        #expect(
            script.pass(.zero) == [.openSocket(ConnectionMachine.TransportID(number: 2), Self.webSocket)])
        // The failure has already been reported.
        #expect(ended(ConnectionMachine.TransportID(number: 2)) == [])
        #expect(script.loop.state == .connected)
        #expect(script.pass(.seconds(17)).contains(script.perform(.consume(.everything))))
    }

    @Test mutating func whenItIsLostThingsAreComparedPolledAndItIsTriedAgain() {
        #expect(live(Self.services) == [.socketTakesOver])
        #expect(
            ended(first) == [.socketFailed(retryAfter: .zero), .socketHandsBack, script.perform(.register)])
        #expect(
            script.finishOpening() == [
                .register, .consume(.allButNodes), .list(.compare(.certain)), .consume(.everything),
            ])
        let second = ConnectionMachine.TransportID(number: 2)
        #expect(script.pass(.seconds(1)).contains(.openSocket(second, Self.webSocket)))
        #expect(heard(second) == [script.perform(.consumeLast)])
        #expect(script.answer(.nothingNew) == [.socketTakesOver])
        #expect(script.loop.state == .connected)
    }

    @Test mutating func aSilentOneIsGivenUp() {
        _ = live(Self.services)
        #expect(script.pass(.seconds(30)) == [.pingSocket(first)])
        #expect(script.pass(.seconds(30)).contains(.dropSocket(first)))
        #expect(script.loop.state == .connected)
    }

    @Test mutating func withALogItOnlyWakes_andItsLossLosesNothing() {
        #expect(live(Self.withFeed) == [.socketTakesOver, script.perform(.readChanges(isFlattened: false))])
        #expect(script.answer(.changesRead(isReset: false)) == [])
        #expect(heard(first, isWoken: true) == [script.perform(.readChanges(isFlattened: false))])
        #expect(script.answer(.changesRead(isReset: false)) == [])
        #expect(
            ended(first) == [.socketFailed(retryAfter: .zero), .socketHandsBack, script.perform(.register)])
        #expect(
            script.finishOpening(Self.withFeed) == [
                .register, .consume(.everything), .readChanges(isFlattened: true),
            ])
    }

    @Test mutating func oneThatEndsWhileTheMailboxIsGivenUpIsAGap() {
        _ = script.open(Self.services)
        #expect(heard(first) == [script.perform(.consumeLast)])
        _ = ended(first)
        // A new one cannot know of anything before it.
        _ = script.pass(.zero)
        _ = heard(ConnectionMachine.TransportID(number: 2))
        #expect(script.answer(.nothingNew) == [script.perform(.register)])
        #expect(
            script.finishOpening() == [
                .register, .consume(.allButNodes), .list(.compare(.certain)), .consume(.everything), .consumeLast,
            ])
    }

    /// Messages may have arrived between the last consumption of the mailbox and the loss.
    @Test mutating func whatCannotBeReadWhileTheMailboxIsGivenUpIsAGap() {
        _ = script.open(Self.services)
        #expect(heard(first) == [script.perform(.consumeLast)])
        #expect(script.note(script.loop.socketMissed(first, now: script.now)) == [])
        #expect(script.answer(.nothingNew) == [script.perform(.register)])
        #expect(
            script.finishOpening() == [
                .register, .consume(.allButNodes), .list(.compare(.certain)), .consume(.everything), .consumeLast,
            ])
        #expect(script.lastActions == [.socketTakesOver])
    }

    /// Every server sends bytes: only a message, or the answer to a ping, proves that this one has registered us.
    @Test mutating func bytesAreNoProof() {
        _ = script.open(Self.services)
        #expect(script.note(script.loop.socketHeard(first, isProof: false, now: script.now)) == [])
        #expect(heard(first) == [script.perform(.consumeLast)])
    }

    @Test mutating func afterALossOfTheSessionWhatItToldMeanwhileMayBeMissing() {
        _ = live(Self.services)
        #expect(script.check() == [])
        _ = script.note(script.loop.socketHeard(first, isStale: true, now: script.now))
        let actions = script.fail(.unreachable)
        #expect(actions.contains(.socketHandsBack))
        _ = script.pass(.seconds(60))
        #expect(
            script.finishOpening(Self.services).prefix(4) == [
                .discover, .register, .consume(.allButNodes), .list(.compare(.certain)),
            ])
    }

    @Test mutating func aLogThatVanishesHasTheMailboxAskedAgain() {
        _ = live(Self.withFeed)
        _ = script.answer(.changesRead(isReset: false))
        _ = script.note(script.loop.socketHeard(first, isStale: true, now: script.now))
        let actions = script.answer(.discovered(Self.services))
        #expect(actions.first == .socketHandsBack)
    }

    /// The log starts after the missed changes, so a listing follows once more, after a new mailbox is registered.
    @Test mutating func aLogThatComesDuringAComparisonLeavesItToBeMade() {
        _ = live(Self.services)
        _ = ended(first)
        _ = script.answer(.registered)
        #expect(script.answer(.nothingNew) == [script.perform(.list(.compare(.certain)))])
        let second = ConnectionMachine.TransportID(number: 2)
        #expect(script.pass(.seconds(1)).contains(.openSocket(second, Self.webSocket)))
        _ = script.note(script.loop.socketHeard(second, isStale: true, now: script.now))
        #expect(script.answer(.listed) == [script.perform(.discover)])
        #expect(script.answer(.discovered(Self.withFeed)) == [script.perform(.consume(.everything))])
        #expect(
            script.answer(.consumed(isWoken: false, isStale: false, isSuspect: true)) == [script.perform(.register)])
        #expect(
            script.finishOpening(Self.withFeed) == [
                .register, .consume(.allButNodes), .readChanges(isFlattened: true), .list(.compare(.certain)),
                .consumeLast, .readChanges(isFlattened: false),
            ])
    }

    @Test mutating func withALogItIsReadOnceInAWhileAllTheSame() {
        _ = live(Self.withFeed)
        _ = script.answer(.changesRead(isReset: false))
        var reads = 0
        for _ in 0..<10 {
            let actions = script.pass(.seconds(30))
            if actions.contains(.pingSocket(first)) { _ = heard(first) }
            for case .perform(let step, _) in actions {
                #expect(step == .readChanges(isFlattened: false))
                reads += 1
                _ = script.answer(.changesRead(isReset: false))
            }
        }
        #expect((3...5).contains(reads))
    }

    @Test mutating func whatCannotBeReadIsAGap_andTheMailboxIsAskedOnceMore() {
        _ = live(Self.services)
        #expect(
            script.note(script.loop.socketMissed(first, now: script.now)) == [
                .socketHandsBack, script.perform(.register),
            ])
        #expect(
            script.finishOpening() == [
                .register, .consume(.allButNodes), .list(.compare(.certain)), .consume(.everything), .consumeLast,
            ])
        #expect(script.lastActions == [.socketTakesOver])
    }

    @Test mutating func ofOneThatWasLeftOrDoesNotCountYetNothingIsMissed() {
        _ = script.open(Self.services)
        #expect(script.note(script.loop.socketMissed(first, now: script.now)) == [])
        _ = heard(first)
        _ = script.answer(.nothingNew)
        let other = ConnectionMachine.TransportID(number: 7)
        #expect(script.note(script.loop.socketMissed(other, now: script.now)) == [])
        #expect(script.note(script.loop.socketMissed(first, now: script.now)).first == .socketHandsBack)
    }

    /// A log alone is read for what a WebSocket has lost.
    @Test mutating func withALogAlone_whatASocketMissesIsInTheLog() {
        let logAlone = WorkspaceServices(hasMailbox: false, hasFeed: true, webSocket: Self.webSocket)
        _ = script.open(logAlone)
        #expect(script.lastActions.contains(.openSocket(first, Self.webSocket)))
        #expect(heard(first, isWoken: true) == [script.perform(.readChanges(isFlattened: false))])
        _ = script.answer(.changesRead(isReset: false))
        _ = script.answer(.nothingNew)
        _ = script.answer(.changesRead(isReset: false))
        #expect(
            script.note(script.loop.socketMissed(first, now: script.now)) == [
                .socketHandsBack, script.perform(.readChanges(isFlattened: true)),
            ])
    }

    @Test mutating func itTellsOfOtherRightsToo() {
        _ = live(Self.services)
        #expect(
            script.note(script.loop.socketHeard(first, isStale: true, now: script.now)) == [script.perform(.discover)])
        #expect(script.answer(.discovered(Self.services)) == [])
    }

    @Test mutating func ofSeveralWhoHoldTheFirstStopsIt_andTheLastLetsItGoOn() {
        _ = live(Self.services)
        let reader = EventReader(.callback, eventName: nil, channelName: nil)
        #expect(script.hold(true) == [.pauseSocket(true)])
        #expect(script.note(script.loop.hold(for: reader, now: script.now)) == [])
        #expect(script.hold(false) == [])
        #expect(script.note(script.loop.release(for: reader, now: script.now)) == [.pauseSocket(false)])
    }

    @Test mutating func whoIsHeldWhenItOpensDoesNotReadIt() {
        _ = script.open(Self.services)
        _ = script.hold(true)
        #expect(heard(first) == [.pauseSocket(true)])
        #expect(script.pass(.seconds(300)) == [])
        #expect(script.hold(false) == [.pauseSocket(false), script.perform(.consumeLast)])
    }

    @Test mutating func whoIsHeldDoesNotReadIt() {
        _ = live(Self.services)
        #expect(script.hold(true) == [.pauseSocket(true)])
        #expect(script.pass(.seconds(300)) == [])
        #expect(script.hold(false) == [.pauseSocket(false)])
        #expect(script.pass(.seconds(30)) == [.pingSocket(first)])
    }

    @Test mutating func aPauseEndsIt_andWhatHappensMeanwhileIsAGap() {
        _ = live(Self.services)
        let actions = script.pause()
        #expect(actions.contains(.dropSocket(first)) && actions.contains(.socketHandsBack))
        #expect(script.loop.nextDeadline == nil)
        _ = script.start()
        #expect(
            script.finishOpening(Self.services) == [
                .discover, .register, .consume(.allButNodes), .list(.compare(.certain)), .consume(.everything),
            ])
    }

    @Test mutating func lateReportsOfOneThatWasLeftDoNotCount() {
        _ = live(Self.services)
        _ = ended(first)
        #expect(heard(first) == [])
        #expect(ended(first) == [])
    }
}
