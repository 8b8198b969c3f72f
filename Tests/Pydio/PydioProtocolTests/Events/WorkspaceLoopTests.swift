import Basics
import PydioProtocol
import Realtime
import TestSupport
import Testing

@Suite struct WorkspaceLoopTests {
    private var script = LoopScript()

    // MARK: Opening

    @Test mutating func aMailboxIsOpenedBeforeTheWorkspaceIsListed_soThatNothingHappensUnseen() {
        #expect(script.start() == [.changed(from: .disconnected, to: .connecting), script.perform(.discover)])
        #expect(script.answer(.discovered(WorkspaceServices())) == [script.perform(.register)])
        #expect(script.answer(.registered) == [script.perform(.consume(.nothing))])
        #expect(script.answer(.nothingNew) == [script.perform(.list(.base))])
        #expect(script.answer(.listed) == [.changed(from: .connecting, to: .connected)])
        #expect(script.loop.state == .connected)
    }

    @Test mutating func aLogOfChangesIsReadInsteadOfListing() {
        #expect(
            script.open(LoopScript.feed) == [
                .discover, .register, .consume(.nothing), .readChanges(isFlattened: true),
            ])
        #expect(script.loop.state == .connected && script.loop.readsFeed)
    }

    @Test mutating func aLogThatCannotBeRead_isDoneWithout() {
        _ = script.start()
        _ = script.answer(.discovered(LoopScript.feed))
        _ = script.answer(.registered)
        _ = script.answer(.nothingNew)
        #expect(script.fail(.withoutFeed) == [script.perform(.register)])
        _ = script.answer(.registered)
        _ = script.answer(.nothingNew)
        #expect(script.answer(.listed) == [.changed(from: .connecting, to: .connected)])
        #expect(!script.loop.readsFeed)
    }

    /// The mailbox's messages about nodes were not reported while the log was still to be read.
    @Test mutating func aLogThatComesLaterAndCannotBeRead_leavesAGap() {
        _ = script.open()
        _ = script.check()
        _ = script.answer(.consumed(isWoken: false, isStale: true, isSuspect: false))
        #expect(
            script.answer(.discovered(LoopScript.feed)) == [script.perform(.readChanges(isFlattened: true))])
        #expect(script.fail(.withoutFeed) == [script.perform(.register)])
        #expect(
            script.finishOpening() == [
                .register, .consume(.allButNodes), .list(.compare(.certain)), .consume(.everything),
            ])
    }

    @Test mutating func aServerThatTellsNothingIsGivenUp() {
        _ = script.start()
        #expect(
            script.answer(.discovered(WorkspaceServices(hasMailbox: false))) == [
                .failed(.silent, retryAfter: nil), .changed(from: .connecting, to: .disconnected),
            ])
        #expect(script.loop.nextDeadline == nil)
    }

    @Test(arguments: [WorkspaceLoop.Problem.unauthenticated, .unusable])
    mutating func whatWillNotChangeIsNotTriedAgain(problem: WorkspaceLoop.Problem) {
        _ = script.start()
        #expect(
            script.fail(problem) == [
                .failed(problem, retryAfter: nil), .changed(from: .connecting, to: .disconnected),
            ])
        #expect(script.loop.nextDeadline == nil)
        #expect(script.start() == [.changed(from: .disconnected, to: .connecting), script.perform(.discover)])
    }

    // MARK: Polls

    @Test(arguments: [(nil, nil, 15), (nil, 40, 40), (5, 40, 5), (1, nil, 2)] as [(Int?, Int?, Double)])
    func pollsComeAsTheOptionSays_orTheServer_aTenthMoreOrLess(option: Int?, server: Int?, expected: Double) throws {
        var script = LoopScript { $0.pollInterval = option.map { .seconds($0) } }
        _ = script.open(WorkspaceServices(pollInterval: server.map { .seconds($0) }))
        var waits: Set<Int64> = []
        for _ in 0..<20 {
            let due = try #require(script.loop.nextDeadline)
            let wait = due - script.now
            #expect(wait >= .seconds(expected * 0.9) && wait <= .seconds(expected * 1.1))
            waits.insert(wait.wholeNanoseconds)
            #expect(script.pass(until: due + .milliseconds(-1)) == [])
            #expect(script.pass(until: due) == [script.perform(.consume(.everything))])
            #expect(script.answer(.nothingNew) == [])
        }
        #expect(waits.count > 10)
    }

    @Test mutating func oneRequestAtATime() {
        _ = script.open()
        #expect(script.check() == [script.perform(.consume(.everything))])
        #expect(script.check() == [])
        #expect(script.pass(.seconds(100)) == [])
        #expect(script.answer(.nothingNew) == [])
    }

    @Test mutating func changesWakeTheReadingOfTheLog_andThoseMeanwhileOnceMore() {
        _ = script.open(LoopScript.feed)
        _ = script.check()
        #expect(script.answer(.nothingNew) == [])
        #expect(script.pass(.seconds(17)) == [script.perform(.consume(.everything))])
        #expect(
            script.answer(.consumed(isWoken: true, isStale: false, isSuspect: false)) == [
                script.perform(.readChanges(isFlattened: false))
            ])
        #expect(script.check() == [])
        #expect(script.answer(.changesRead(isReset: false)) == [script.perform(.readChanges(isFlattened: false))])
    }

    @Test mutating func aLogWithoutMailboxesIsPolledItself() {
        #expect(
            script.open(WorkspaceServices(hasMailbox: false, hasFeed: true)) == [
                .discover, .readChanges(isFlattened: true),
            ])
        #expect(script.pass(.seconds(17)) == [script.perform(.readChanges(isFlattened: false))])
        #expect(script.answer(.changesRead(isReset: false)) == [])
        #expect(script.pass(.seconds(17)) == [script.perform(.readChanges(isFlattened: false))])
    }

    @Test mutating func aLogIsReadOnceAMinuteAlsoIfNothingWakes() {
        _ = script.open(LoopScript.feed)
        var reads = 0
        for _ in 0..<24 {
            for case .perform(let step, _) in script.pass(.seconds(5)) {
                if step == .consume(.everything) { _ = script.answer(.nothingNew) }
                if case .readChanges = step {
                    reads += 1
                    let next = script.answer(.changesRead(isReset: false))
                    if next.contains(script.perform(.consume(.everything))) { _ = script.answer(.nothingNew) }
                }
            }
        }
        #expect(reads == 1 || reads == 2)
    }

    @Test mutating func otherRightsOrWorkspacesAreLookedAt() {
        _ = script.open()
        _ = script.check()
        #expect(
            script.answer(.consumed(isWoken: false, isStale: true, isSuspect: false)) == [script.perform(.discover)])
        #expect(script.answer(.discovered(WorkspaceServices())) == [])
    }

    // MARK: Failures

    @Test mutating func afterAFailureThingsAreComparedSinceAnAnswerMayBeLost() {
        _ = script.open()
        _ = script.check()
        let actions = script.fail(.unreachable)
        guard case .failed(.unreachable, .some(let delay)) = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(actions.dropFirst() == [.changed(from: .connected, to: .reconnecting)])
        #expect(delay <= .seconds(2))
        #expect(script.pass(delay) == [.changed(from: .reconnecting, to: .connecting), script.perform(.discover)])
        #expect(
            script.finishOpening() == [
                .discover, .register, .consume(.allButNodes), .list(.compare(.suspected)), .consume(.everything),
            ])
        #expect(script.loop.state == .connected)
    }

    @Test mutating func waitsGrowToAMinute_andOfErrorsAreFiveSecondsAtLeast() {
        script = LoopScript { $0.connection.reconnectPolicy = .quadratic(maximumDelay: .seconds(60)) }
        _ = script.open()
        var waits: [Duration] = []
        _ = script.check()
        for number in 0..<12 {
            let actions = script.fail(number < 2 ? .refused : .timedOut)
            guard case .failed(_, .some(let wait)) = actions.first else {
                Issue.record("\(actions)")
                return
            }
            waits.append(wait)
            _ = script.pass(wait)
        }
        #expect(waits.prefix(4) == [.seconds(5), .seconds(5), .seconds(4), .seconds(9)])
        #expect(waits.last == .seconds(60))
    }

    @Test mutating func anotherSessionMayHaveAnotherMailbox() {
        _ = script.open()
        _ = script.check()
        #expect(
            script.answer(.consumed(isWoken: false, isStale: false, isSuspect: true)) == [script.perform(.register)])
        #expect(
            script.finishOpening() == [
                .register, .consume(.allButNodes), .list(.compare(.suspected)), .consume(.everything),
            ])
    }

    @Test mutating func aServerThatAlwaysMakesWorkIsAskedTwiceASecond() {
        _ = script.open(LoopScript.feed)
        var (actions, requests) = (script.check(), 0)
        let end = script.now + .seconds(60)
        while script.now < end, requests < 1_000 {
            guard case .perform(let step, _) = actions.last else {
                actions = script.pass(.milliseconds(100))
                continue
            }
            requests += 1
            actions =
                switch step {
                case .discover: script.answer(.discovered(LoopScript.feed))
                case .register: script.answer(.registered)
                case .consume, .consumeLast:
                    script.answer(.consumed(isWoken: true, isStale: true, isSuspect: true))
                case .list: script.answer(.listed)
                case .readChanges: script.answer(.changesRead(isReset: true))
                }
        }
        #expect((100...160).contains(requests))
    }

    /// Earlier deadlines wait for it too: otherwise the clock would be checked without end.
    @Test mutating func whoAskedTooOftenIsWokenWhenItIsTimeToAskAgain() throws {
        _ = script.open()
        var requests = 0
        while requests < 100, !script.check().isEmpty {
            requests += 1
            _ = script.answer(.nothingNew)
        }
        #expect((20...40).contains(requests))
        let moment = try #require(script.loop.nextDeadline)
        #expect(moment > script.now && moment <= script.now + .milliseconds(500))
        #expect(script.pass(until: moment + .milliseconds(-1)) == [])
        #expect(script.loop.nextDeadline == moment)
        // No wake-up is scheduled for a step that is not allowed.
        #expect(script.hold(true) == [])
        #expect(script.loop.nextDeadline == nil)
        #expect(script.hold(false) == [])
        #expect(script.loop.nextDeadline == moment)
        #expect(script.pass(until: moment) == [script.perform(.consume(.everything))])
    }

    @Test mutating func whenTheTimeToAskAgainHasComeAndNothingIsToBeAskedNobodyIsWokenForIt() throws {
        _ = script.open()
        var requests = 0
        var moment = try #require(script.loop.nextDeadline)
        while moment > script.now + .seconds(1), requests < 100 {
            requests += 1
            _ = script.check()
            _ = script.answer(.nothingNew)
            moment = try #require(script.loop.nextDeadline)
        }
        #expect((20...40).contains(requests))
        #expect(script.pass(until: moment) == [])
        #expect(try #require(script.loop.nextDeadline) > moment + .seconds(1))
    }

    @Test mutating func aMailboxThatNobodyAskedForTooLongIsGone_withWhatWasInIt() {
        _ = script.open()
        #expect(script.hold(true) == [])
        #expect(script.pass(.seconds(1000)) == [])
        #expect(script.hold(false) == [script.perform(.register)])
        #expect(
            script.finishOpening() == [
                .register, .consume(.allButNodes), .list(.compare(.certain)), .consume(.everything),
            ])
    }

    /// A new mailbox replaces it, and may start with messages pending for others.
    @Test mutating func aMailboxThatExpiresBeforeItIsRegisteredAgainIsNew() {
        _ = script.open()
        _ = script.pause()
        _ = script.pass(.seconds(530))
        _ = script.start()
        #expect(script.answer(.discovered(WorkspaceServices())) == [script.perform(.register)])
        #expect(script.hold(true) == [])
        _ = script.answer(.registered)
        _ = script.pass(.seconds(60))
        #expect(script.hold(false) == [script.perform(.consume(.allButNodes))])
    }

    /// The listing is outdated by then, so the server is listed again for the same comparison.
    @Test(arguments: [WorkspaceLoop.Loss.suspected, .certain])
    mutating func aComparisonThatAPauseCutShortIsMadeAnew(loss: WorkspaceLoop.Loss) {
        _ = script.open()
        if loss == .certain {
            _ = script.hold(true)
            _ = script.pass(.seconds(1000))
            _ = script.hold(false)
        } else {
            _ = script.check()
            _ = script.answer(.consumed(isWoken: false, isStale: false, isSuspect: true))
        }
        _ = script.answer(.registered)
        #expect(script.answer(.nothingNew) == [script.perform(.list(.compare(loss)))])
        _ = script.hold(true)
        #expect(script.answer(.listed) == [])
        _ = script.pause()
        _ = script.hold(false)
        #expect(
            script.open() == [
                .discover, .register, .consume(.allButNodes), .list(.compare(loss)), .consume(.everything),
            ])
    }

    @Test mutating func aLogThatBeganAnewIsComparedWithAListing_thenReadForItsNetEffect() {
        _ = script.open(LoopScript.feed)
        _ = script.check()
        #expect(script.answer(.changesRead(isReset: true)) == [script.perform(.list(.compare(.certain)))])
        #expect(script.answer(.listed) == [script.perform(.readChanges(isFlattened: true))])
        #expect(script.answer(.changesRead(isReset: false)) == [script.perform(.consume(.everything))])
    }

    @Test mutating func aResetThatAFailureCutShortIsNotForgotten() {
        _ = script.open(LoopScript.feed)
        _ = script.check()
        _ = script.answer(.changesRead(isReset: true))
        _ = script.fail(.unreachable)
        _ = script.pass(.seconds(3))
        #expect(
            script.finishOpening(LoopScript.feed) == [
                .discover, .register, .consume(.allButNodes), .list(.compare(.certain)),
                .readChanges(isFlattened: true),
            ])
    }

    @Test mutating func answersToWhatWasGivenUpDoNotCount() {
        _ = script.open()
        _ = script.check()
        let number = script.number
        #expect(
            script.pause() == [
                .changed(from: .connected, to: .disconnecting), .cancelStep,
                .changed(from: .disconnecting, to: .disconnected),
            ])
        #expect(script.loop.succeeded(number, .nothingNew, now: script.now) == [])
        #expect(script.loop.failed(number, .unreachable, now: script.now) == [])
        _ = script.start()
        #expect(
            script.finishOpening() == [
                .discover, .register, .consume(.allButNodes), .list(.compare(.suspected)), .consume(.everything),
            ])
    }

    // MARK: Network

    @Test mutating func whenTheNetworkReturnsNothingIsWaitedFor() {
        _ = script.open()
        _ = script.check()
        _ = script.fail(.unreachable)
        #expect(
            script.networkReturned() == [.changed(from: .reconnecting, to: .connecting), script.perform(.discover)])
    }

    @Test mutating func whenTheNetworkChangesItIsTriedAtOnce() {
        _ = script.open()
        #expect(script.networkReturned() == [script.perform(.consume(.everything))])
        // The answer does not arrive.
        #expect(script.pass(.seconds(61)).contains(.failed(.timedOut, retryAfter: .zero)))
    }

    // MARK: Holding

    @Test mutating func whoIsHeldAsksNothing_andThenAtOnce() {
        _ = script.open()
        #expect(script.hold(true) == [])
        #expect(script.pass(.seconds(60)) == [])
        #expect(script.loop.nextDeadline == nil)
        #expect(script.hold(false) == [script.perform(.consume(.everything))])
    }

    @Test mutating func aReaderThatIsSlowForLongIsToldOnce_andItsEndAsWell() {
        _ = script.open()
        let reader = EventReader(.sequence, eventName: "pydio:node_created", channelName: nil)
        #expect(script.note(script.loop.hold(for: reader, now: script.now)) == [])
        #expect(script.loop.nextDeadline == script.now + .seconds(120))
        #expect(script.pass(.seconds(119)) == [])
        #expect(
            script.pass(.seconds(1)) == [
                .held(
                    message: "nothing is received: a sequence of “pydio:node_created” is full, and has not been read "
                        + "for 120 s")
            ])
        #expect(script.pass(.seconds(380)) == [])
        // Requests of sinks are independent of this.
        #expect(script.hold(true) == [])
        let actions = script.loop.release(for: reader, now: script.now)
        #expect(actions.count == 1)
        guard case .resumed(let message, .seconds(500)) = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(message.contains("pydio:node_created"))
        #expect(script.hold(false) == [script.perform(.consume(.everything))])
    }

    @Test mutating func whatIsUnderWayGoesOnWhenHeld() {
        _ = script.open()
        _ = script.check()
        _ = script.hold(true)
        #expect(script.answer(.nothingNew) == [])
        #expect(script.pass(.seconds(60)) == [])
    }
}

extension WorkspaceLoop.Outcome {
    static let nothingNew = Self.consumed(isWoken: false, isStale: false, isSuspect: false)
}

/// A loop with its clock.
struct LoopScript {
    static let feed = WorkspaceServices(hasFeed: true)

    var loop: WorkspaceLoop
    var now = MonotonicInstant.start
    /// The number of the last step.
    var number = 0
    private var step: WorkspaceLoop.Step?

    init(_ change: (inout WorkspaceLoop.Configuration) -> Void = { _ in }) {
        var configuration = WorkspaceLoop.Configuration()
        change(&configuration)
        loop = WorkspaceLoop(configuration: configuration, seed: 1)
    }

    /// The action that starts a step, with the number of the last step.
    func perform(_ step: WorkspaceLoop.Step) -> WorkspaceLoop.Action { .perform(step, number: number) }

    mutating func note(_ actions: [WorkspaceLoop.Action]) -> [WorkspaceLoop.Action] {
        for case .perform(let step, let number) in actions { (self.step, self.number) = (step, number) }
        return actions
    }

    mutating func start() -> [WorkspaceLoop.Action] { note(loop.start(now: now)) }
    mutating func pause() -> [WorkspaceLoop.Action] { note(loop.pause(now: now)) }
    mutating func check() -> [WorkspaceLoop.Action] { note(loop.check(now: now)) }
    mutating func hold(_ isHeld: Bool) -> [WorkspaceLoop.Action] { note(loop.hold(isHeld, now: now)) }
    mutating func networkReturned() -> [WorkspaceLoop.Action] { note(loop.networkReturned(now: now)) }

    mutating func answer(_ outcome: WorkspaceLoop.Outcome) -> [WorkspaceLoop.Action] {
        note(loop.succeeded(number, outcome, now: now))
    }

    mutating func fail(_ problem: WorkspaceLoop.Problem) -> [WorkspaceLoop.Action] {
        note(loop.failed(number, problem, now: now))
    }

    mutating func pass(until moment: MonotonicInstant) -> [WorkspaceLoop.Action] {
        now = moment
        return note(loop.timePassed(now: now))
    }

    mutating func pass(_ duration: Duration) -> [WorkspaceLoop.Action] { pass(until: now + duration) }

    /// Starts, and answers all steps until the loop is connected.
    ///
    /// - Returns: The steps.
    mutating func open(_ services: WorkspaceServices = WorkspaceServices()) -> [WorkspaceLoop.Step] {
        _ = start()
        return finishOpening(services)
    }

    /// Answers the pending step and those that follow.
    mutating func finishOpening(_ services: WorkspaceServices = WorkspaceServices()) -> [WorkspaceLoop.Step] {
        var steps: [WorkspaceLoop.Step] = []
        while let step, steps.count < 10, loop.isUnderWay(number) {
            steps.append(step)
            let outcome: WorkspaceLoop.Outcome =
                switch step {
                case .discover: .discovered(services)
                case .register: .registered
                case .consume, .consumeLast: .nothingNew
                case .list: .listed
                case .readChanges: .changesRead(isReset: false)
                }
            lastActions = answer(outcome)
        }
        return steps
    }

    /// The actions after the last answer.
    var lastActions: [WorkspaceLoop.Action] = []
}
