import PusherProtocol
import Realtime
import Transport

/// One client with its network, its auth endpoint, its server and its application, on a clock of their own.
///
/// Everything runs in one thread. What would run on others, such as callbacks or calls of the application, happens at
/// moments of its own between the steps of the I/O thread.
final class Simulation {
    enum Event {
        case step(Int)
        case heal, insist, publishLast, compare, end
        case carryOut
        case timer(MonotonicInstant)
        case runCallbacks
        case linkOpened(Int), linkFailed(Int), arrivedAtClient(Int), arrivedAtServer(Int), serverNotices(Int)
        case closeTimedOut(Int)
        case authAnswer(AuthRequestID, Result<AuthAnswer, AuthFailure>)
        case userAuthAnswer(AuthRequestID, Result<UserAuthAnswer, AuthFailure>)
    }

    static let maximumEvents = 50_000

    let schedule: Schedule
    var random: Random
    var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    var lastClockJump: MonotonicInstant?
    var agenda = Agenda<Event>()
    var statistics = Statistics()
    private(set) var violation: String?
    private(set) var transcript: [String]?
    var isOver = false

    // The client, as its shell holds it.
    var machine: ClientMachine
    var router = EventRouter()
    var links: [Link] = []
    var transport: (id: ConnectionMachine.TransportID, link: Link)?
    var authorizations: Set<AuthRequestID> = []
    var armedDeadline: MonotonicInstant?
    var isCarryingOut = false
    var callbacks = Callbacks()

    // Its surroundings.
    var server = Server()
    var serverIsDownUntil: MonotonicInstant
    var connecting = Schedule.Connecting.normal
    var latency = Duration.zero
    var authBehaviour = Schedule.AuthBehaviour.normal

    // The application, and what it may expect.
    var application = Application()
    var ledger = Ledger()

    init(_ schedule: Schedule, isRecording: Bool = false) {
        self.schedule = schedule
        random = Random(seed: schedule.seed ^ 0x5EED)
        serverIsDownUntil = now
        transcript = isRecording ? [] : nil
        machine = ClientMachine(
            endpoint: Endpoint(host: "h", key: "key", usesTLS: schedule.options.usesTLS, clientVersion: "1"),
            configuration: schedule.options.configuration, seed: random.next())
    }

    /// Runs the whole schedule, then a long time in which nothing is wrong, then the end of the client.
    func run() {
        var time = now
        for (index, step) in schedule.steps.enumerated() {
            time = time + step.wait
            agenda.add(.step(index), at: time)
        }
        agenda.add(.heal, at: time)
        var count = 0
        while violation == nil, let (time, event) = agenda.popFirst() {
            if isOver, case .timer = event {
                check(!application.isShutDown, "a timer fires after the client is gone")
            }
            now = max(now, time)
            handle(event)
            sendServerFrames()
            checkMachine()
            count += 1
            check(count < Self.maximumEvents, "it never comes to rest")
        }
    }

    private func handle(_ event: Event) {
        switch event {
        case .step(let index): perform(schedule.steps[index].happening)
        case .heal: heal()
        case .insist: insist()
        case .publishLast: publishLast()
        case .compare: compareAtRest()
        case .end: isOver = true
        case .carryOut: carryOut()
        case .timer(let deadline): timerFired(deadline)
        case .runCallbacks: runCallbacks()
        case .linkOpened(let link): linkOpened(links[link])
        case .linkFailed(let link): linkFailed(links[link])
        case .arrivedAtClient(let link): read(links[link])
        case .arrivedAtServer(let link): readAtServer(links[link])
        case .serverNotices(let link): serverNotices(links[link])
        case .closeTimedOut(let link): closeTimedOut(links[link])
        case .authAnswer(let request, let answer): authAnswered(request, answer)
        case .userAuthAnswer(let request, let answer): userAuthAnswered(request, answer)
        }
    }

    func after(_ wait: Duration, _ event: Event) {
        agenda.add(event, at: now + wait)
    }

    // MARK: What is found

    func check(_ isTrue: Bool, _ message: @autoclosure () -> String) {
        guard !isTrue, violation == nil else { return }
        violation = message()
        log("VIOLATION: \(message())")
    }

    func log(_ line: @autoclosure () -> String) {
        guard transcript != nil else { return }
        let seconds = Double((now.nanoseconds - 1_000_000_000_000) / 1_000_000) / 1000
        transcript?.append("\(seconds) s  \(line())")
    }
}
