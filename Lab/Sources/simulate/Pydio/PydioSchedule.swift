import Basics
import PydioProtocol
import Realtime
import Transport

/// The planned events for one watched workspace.
struct PydioSchedule: Schedule {
    /// A call of the application.
    enum Call: Sendable {
        case start, pause, check
        case hold(Bool)
        case holdForReader, releaseForReader
    }

    /// How the server treats requests.
    enum Behaviour: Sendable {
        case normal
        case unreachable
        /// Never answers.
        case silent
        case failing
        /// Carries out requests, and loses the answers.
        case losingAnswers
        case unauthenticated
        /// Only the log of changes is unreadable.
        case withoutFeed
    }

    /// How the server treats WebSockets.
    enum SocketBehaviour: Sendable {
        case normal, refusing, silent
        /// Closes them once they are open.
        case closing
    }

    enum Happening: Sendable {
        case call(Call)
        /// Other clients make changes.
        case change(count: Int)
        case requests(Behaviour)
        case sockets(SocketBehaviour)
        /// Breaks the pending request.
        case cut
        case latency(Duration)
        case socketLatency(Duration)
        case cutSocket
        case silenceSocket
        case socketGarbage
        /// The session ends, and with it the mailbox and the WebSocket; the next request logs in again.
        case sessionLost
        /// Like `sessionLost`, but a WebSocket stays open.
        case mailboxLost
        /// The log starts over.
        case feedReset
        case hint(isLost: Bool)
        case clockJump(Duration)
    }

    struct Options: Sendable {
        var loop = WorkspaceLoop.Configuration()
        var services = WorkspaceServices()
        /// Whether a cancelled request ends at once rather than a while later.
        var cancelsAtOnce = true
        /// Whether a new mailbox begins with messages pending for others.
        var newMailboxesHaveOldMessages = false
        /// Whether WebSocket messages may arrive in parts.
        var splitsFrames = false
    }

    let seed: UInt64
    var options = Options()
    var steps: [Step<Happening>] = []

    static let simplifications: [@Sendable (inout Options) -> Void] = [
        { $0.cancelsAtOnce = true }, { $0.newMailboxesHaveOldMessages = false }, { $0.splitsFrames = false },
        { $0.services.webSocket = nil }, { ($0.services.hasFeed, $0.services.hasMailbox) = (false, true) },
        { $0.loop = .init() },
    ]

    init(seed: UInt64) {
        self.seed = seed
        var random = Random(seed: seed)
        if random.chance(30) { options.loop.connection.reconnectPolicy = .quadratic() }
        if random.chance(30) { options.loop.pollInterval = .seconds(3) }
        if random.chance(30) { options.loop.mailboxLife = .seconds(60) }
        if random.chance(10) { options.loop.usesFeed = false }
        options.services.hasFeed = random.chance(40)
        options.services.hasMailbox = !(options.services.hasFeed && options.loop.usesFeed) || random.chance(80)
        if random.chance(60), options.services.hasMailbox {
            options.services.webSocket = .init(url: "wss://s:1/ws", host: "s", isSecure: true)
        }
        options.cancelsAtOnce = random.chance(60)
        options.newMailboxesHaveOldMessages = random.chance(40)
        options.splitsFrames = random.chance(30)
        if random.chance(95) { steps.append(Step(wait: .zero, happening: .call(.start))) }
        for _ in 0..<6 + random.below(34) {
            steps.append(Step(wait: Self.waits.pick(&random), happening: Self.happenings.pick(&random)))
        }
    }

    private static let waits = Weighted<Duration>([
        (4, { _ in .zero }), (6, { $0.seconds(0...0.1) }), (5, { $0.seconds(0.1...2) }), (5, { $0.seconds(2...40) }),
        (1, { $0.seconds(40...700) }),
    ])

    private static let calls = Weighted<Call>([
        (6, { _ in .start }), (4, { _ in .pause }), (5, { _ in .check }), (2, { _ in .hold(true) }),
        (3, { _ in .hold(false) }), (2, { _ in .holdForReader }), (3, { _ in .releaseForReader }),
    ])

    private static let behaviours = Weighted<Behaviour>([
        (8, { _ in .normal }), (2, { _ in .unreachable }), (2, { _ in .silent }), (2, { _ in .failing }),
        (3, { _ in .losingAnswers }), (1, { _ in .unauthenticated }), (1, { _ in .withoutFeed }),
    ])

    private static let socketBehaviours = Weighted<SocketBehaviour>([
        (6, { _ in .normal }), (2, { _ in .refusing }), (1, { _ in .silent }), (1, { _ in .closing }),
    ])

    private static let happenings = Weighted<Happening>([
        (16, { .call(calls.pick(&$0)) }), (40, { .change(count: 1 + $0.below(4)) }),
        (11, { .requests(behaviours.pick(&$0)) }), (5, { .sockets(socketBehaviours.pick(&$0)) }), (4, { _ in .cut }),
        (5, { .latency($0.chance(70) ? $0.seconds(0...0.1) : $0.seconds(0...20)) }),
        (3, { .socketLatency($0.chance(60) ? $0.seconds(0...0.1) : $0.seconds(0...10)) }),
        (4, { _ in .cutSocket }), (2, { _ in .silenceSocket }), (2, { _ in .socketGarbage }),
        (3, { _ in .sessionLost }), (2, { _ in .mailboxLost }), (3, { _ in .feedReset }),
        (4, { .hint(isLost: $0.chance(40)) }), (1, { .clockJump($0.seconds(1...900)) }),
    ])
}
