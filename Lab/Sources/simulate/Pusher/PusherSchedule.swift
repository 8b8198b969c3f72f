import Basics
import PusherProtocol
import Realtime
import Transport

/// The planned events for one client, and its options. Made from a seed; steps can be omitted.
struct PusherSchedule: Schedule {
    /// A call of the application.
    enum Call: Sendable {
        case connect, disconnect, move, shutDown, signIn
        case subscribe(Int)
        case unsubscribe(Int)
        case trigger(Int)
        case holdReading, releaseReading
    }

    enum Happening: Sendable {
        case call(Call)
        /// Makes the call from the next callback.
        case callFromCallback(Call)
        case publish(Int, count: Int)
        case rotateKey(Int)
        case peer(Int, user: Int, joins: Bool)
        /// The server closes the connection, perhaps after a `pusher:error` with the same code.
        case close(code: Int, isAnnounced: Bool)
        case serverError(code: Int?)
        case serverPing
        case garbage(Garbage)
        /// The connection breaks, in the middle of data in transit.
        case cut
        /// All data is silently lost from now on.
        case blackHole
        case restart(down: Duration)
        case connecting(Connecting)
        case latency(Duration)
        case authorization(AuthBehaviour)
        case hint(isLost: Bool)
        case clockJump(Duration)
        /// The duration of each callback; `nil` for callbacks that never return.
        case callbacks(each: Duration?)
    }

    enum Garbage: CaseIterable, Sendable {
        case notJSON, binary, unknownChannel, unknownInternal, staleSuccess
    }

    /// How the server treats new connections.
    enum Connecting: Sendable {
        case normal, refused, slow, blackHole, silent, garbage, noActivityTimeout
        case error(code: Int)
    }

    enum AuthBehaviour: CaseIterable, Sendable {
        case normal, slow, late, lost, forbidden, temporaryFailure, twice, forOldSocket, noChannelData
    }

    struct Options: Sendable {
        var configuration = ClientMachine.Configuration()
        var usesTLS = true
        /// Whether bytes pass through the real WebSocket machine, instead of messages.
        var isBytewise = false
        /// Whether callbacks run on the I/O thread.
        var isInline = false
        /// Whether the client makes authorizations itself, at once.
        var signsInline = false
        /// Whether a cancelled authorization may still answer.
        var authAnswersInSpiteOfCancel = false
        var maximumQueuedEvents = 10_000
    }

    let seed: UInt64
    var options = Options()
    var steps: [Step<Happening>] = []

    static let simplifications: [@Sendable (inout Options) -> Void] = [
        { $0.isBytewise = false }, { $0.isInline = false }, { $0.authAnswersInSpiteOfCancel = false },
        { $0.signsInline = true }, { $0.maximumQueuedEvents = 10_000 }, { $0.configuration = .init() },
    ]

    static let channels = [
        "room", "cache-news", "private-a", "private-cache-b", "private-encrypted-c", "private-encrypted-cache-d",
        "presence-e", "presence-cache-f",
    ]

    init(seed: UInt64) {
        self.seed = seed
        var random = Random(seed: seed)
        chooseOptions(&random)
        let favourites = (0..<1 + random.below(4)).map { _ in random.below(Self.channels.count) }
        let count = 6 + random.below(34)
        if random.chance(90) { steps.append(Step(wait: .zero, happening: .call(.connect))) }
        for _ in 0..<count {
            var happening = Self.happenings.pick(&random)
            if random.chance(75) { happening = happening.on(random.pick(favourites)) }
            steps.append(Step(wait: Self.waits.pick(&random), happening: happening))
        }
    }

    private mutating func chooseOptions(_ random: inout Random) {
        if random.chance(25) { options.configuration.connection.reconnectPolicy = .quadratic() }
        if random.chance(8) { options.configuration.connection.autoReconnect = false }
        if random.chance(8) { options.configuration.connection.reconnectAttemptsMax = random.below(4) }
        if random.chance(30) { options.configuration.connection.activityTimeout = .seconds(10) }
        if random.chance(40) { options.configuration.maximumAuthRequests = 1 + random.below(2) }
        if random.chance(40) { options.configuration.maximumAuthRetries = random.below(3) }
        if random.chance(30) { options.configuration.maximumUnsentEvents = 3 }
        if random.chance(30) { options.configuration.maximumSealedBytes = 2_000 }
        if random.chance(30) { options.configuration.clientEventRateLimit = 2 }
        if random.chance(30) { options.maximumQueuedEvents = 1 + random.below(12) }
        options.usesTLS = random.chance(70)
        options.isBytewise = random.chance(25)
        options.isInline = random.chance(20)
        options.signsInline = random.chance(15)
        options.authAnswersInSpiteOfCancel = random.chance(50)
    }

    private static let waits = Weighted<Duration>([
        (4, { _ in .zero }), (8, { $0.seconds(0...0.1) }), (5, { $0.seconds(0.1...2) }), (3, { $0.seconds(2...40) }),
        (1, { $0.seconds(40...300) }),
    ])

    private static let calls = Weighted<Call>([
        (3, { _ in .connect }), (2, { _ in .disconnect }), (1, { _ in .move }), (3, { _ in .signIn }),
        (18, { .subscribe($0.below(channels.count)) }), (9, { .unsubscribe($0.below(channels.count)) }),
        (8, { .trigger($0.below(channels.count)) }), (1, { _ in .holdReading }), (2, { _ in .releaseReading }),
    ])

    private static let codes = Weighted<Int>([
        (3, { _ in 1000 }), (2, { _ in 1001 }), (1, { _ in 1011 }), (1, { _ in 4000 }), (1, { 4001 + $0.below(99) }),
        (4, { 4100 + $0.below(100) }), (4, { 4200 + $0.below(100) }), (1, { 4300 + $0.below(3) }),
    ])

    private static let happenings = Weighted<Happening>([
        (40, { .call(calls.pick(&$0)) }), (1, { $0.chance(20) ? .call(.shutDown) : .call(.connect) }),
        (8, { .callFromCallback(calls.pick(&$0)) }),
        (16, { .publish($0.below(channels.count), count: 1 + $0.below(8)) }),
        (4, { .rotateKey(4 + $0.below(2)) }),
        (6, { .peer(6 + $0.below(2), user: $0.below(4), joins: $0.chance(60)) }),
        (6, { .close(code: codes.pick(&$0), isAnnounced: $0.chance(30)) }),
        (1, { .serverError(code: $0.pick([nil, 4301, 4302, 4200])) }), (1, { _ in .serverPing }),
        (2, { .garbage($0.pick(Garbage.allCases)) }),
        (5, { _ in .cut }), (3, { _ in .blackHole }), (2, { .restart(down: $0.seconds(0...30)) }),
        (4, { .connecting(connecting.pick(&$0)) }),
        (4, { .latency($0.chance(50) ? $0.seconds(0...0.05) : $0.seconds(0...40)) }),
        (7, { .authorization($0.pick(AuthBehaviour.allCases)) }),
        (3, { .hint(isLost: $0.chance(40)) }), (1, { .clockJump($0.seconds(1...600)) }),
        (3, { .callbacks(each: $0.pick([.zero, .zero, .milliseconds(20), .seconds(2), nil])) }),
    ])

    private static let connecting = Weighted<Connecting>([
        (6, { _ in .normal }), (3, { _ in .refused }), (1, { _ in .slow }), (1, { _ in .blackHole }),
        (1, { _ in .silent }), (1, { _ in .garbage }), (1, { _ in .noActivityTimeout }),
        (2, { .error(code: codes.pick(&$0)) }),
    ])
}

extension PusherSchedule.Happening {
    /// A copy of the event on another channel.
    fileprivate func on(_ channel: Int) -> Self {
        switch self {
        case .call(let call): .call(call.on(channel))
        case .callFromCallback(let call): .callFromCallback(call.on(channel))
        case .publish(_, let count): .publish(channel, count: count)
        case .rotateKey, .peer, .close, .serverError, .serverPing, .garbage, .cut, .blackHole, .restart, .connecting,
            .latency, .authorization, .hint, .clockJump, .callbacks:
            self
        }
    }
}

extension PusherSchedule.Call {
    fileprivate func on(_ channel: Int) -> Self {
        switch self {
        case .subscribe: .subscribe(channel)
        case .unsubscribe: .unsubscribe(channel)
        case .trigger: .trigger(channel)
        case .connect, .disconnect, .move, .shutDown, .signIn, .holdReading, .releaseReading: self
        }
    }
}
