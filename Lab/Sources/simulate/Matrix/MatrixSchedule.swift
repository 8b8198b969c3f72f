import Basics
import MatrixProtocol
import Realtime
import Transport

/// The planned events for one session.
struct MatrixSchedule: Schedule {
    /// A call of the application.
    enum Call: Sendable {
        case start, pause, reconnect
        case hold(Bool)
        /// One sync during a pause.
        case backgroundSync
    }

    enum Happening: Sendable {
        case call(Call)
        case publish(room: Int, count: Int)
        case homeserver(MatrixServer.Behaviour)
        /// Breaks the pending request.
        case cut
        case latency(Duration)
        /// The time to apply and store an answer.
        case applying(Duration)
        case store(fails: Bool)
        /// The homeserver forgets its old tokens.
        case streamReset
        /// The process ends, and a new one starts from the store.
        case restart
        case hint(isLost: Bool)
        case clockJump(Duration)
    }

    struct Options: Sendable {
        var configuration = SyncLoop.Configuration()
        /// Whether a cancelled request ends at once rather than a while later.
        var cancelsAtOnce = true
    }

    static let rooms = 3

    let seed: UInt64
    var options = Options()
    var steps: [Step<Happening>] = []

    static let simplifications: [@Sendable (inout Options) -> Void] = [
        { $0.cancelsAtOnce = true }, { $0.configuration = .init() },
    ]

    init(seed: UInt64) {
        self.seed = seed
        var random = Random(seed: seed)
        if random.chance(40) { options.configuration.connection.reconnectPolicy = .quadratic() }
        if random.chance(30) { options.configuration.pollTimeout = .seconds(5) }
        if random.chance(30) { options.configuration.connection.connectTimeout = .seconds(20) }
        if random.chance(30) { options.configuration.errorDelay = .seconds(1) }
        options.cancelsAtOnce = random.chance(60)
        if random.chance(95) { steps.append(Step(wait: .zero, happening: .call(.start))) }
        for _ in 0..<6 + random.below(34) {
            steps.append(Step(wait: Self.waits.pick(&random), happening: Self.happenings.pick(&random)))
        }
    }

    private static let waits = Weighted<Duration>([
        (4, { _ in .zero }), (8, { $0.seconds(0...0.1) }), (5, { $0.seconds(0.1...2) }), (4, { $0.seconds(2...40) }),
        (1, { $0.seconds(40...300) }),
    ])

    private static let calls = Weighted<Call>([
        (6, { _ in .start }), (4, { _ in .pause }), (3, { _ in .reconnect }), (3, { _ in .hold(true) }),
        (4, { _ in .hold(false) }), (5, { _ in .backgroundSync }),
    ])

    private static let behaviours = Weighted<MatrixServer.Behaviour>([
        (8, { _ in .normal }), (3, { _ in .unreachable }), (3, { _ in .silent }), (3, { _ in .failing }),
        (2, { .limiting($0.seconds(1...60)) }), (1, { _ in .unauthenticated }), (2, { _ in .garbage }),
        (2, { _ in .impatient }),
    ])

    private static let happenings = Weighted<Happening>([
        (30, { .call(calls.pick(&$0)) }),
        (34, { .publish(room: $0.below(rooms), count: $0.chance(80) ? 1 + $0.below(3) : 4 + $0.below(9)) }),
        (12, { .homeserver(behaviours.pick(&$0)) }), (6, { _ in .cut }),
        (5, { .latency($0.chance(60) ? $0.seconds(0...0.1) : $0.seconds(0...40)) }),
        (4, { .applying($0.pick([.zero, .milliseconds(20), .seconds(2), .seconds(70)])) }),
        (3, { .store(fails: $0.chance(50)) }), (2, { _ in .streamReset }), (4, { _ in .restart }),
        (5, { .hint(isLost: $0.chance(40)) }), (1, { .clockJump($0.seconds(1...600)) }),
    ])
}
