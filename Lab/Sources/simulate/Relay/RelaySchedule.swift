import Basics

/// The planned events for some relays and the bucket that they share.
struct RelaySchedule: Schedule {
    enum Happening: Sendable {
        /// Starts a process, unless there are enough.
        case start
        case kill(Int)
        /// The process stops, while its clock continues.
        case pause(Int, Duration)
        /// The process gives everything back.
        case leave(Int)
        /// The rates of lost requests and answers of a relay.
        case link(Int, Link)
        /// Changes of the bucket no longer reach the process, though everything else works, until its link changes.
        case blind(Int)
        /// Writes fail.
        case election(Duration)
        case latency(Duration)
        /// The bucket loses the newest record of a slot, if allowed.
        case forget(Int)
        /// The bucket loses the newest record of a slot, and restores the one that it lost before.
        case revive(Int)
        /// The stream drops the last fence of a slot.
        case dropFence(Int)
        /// The bucket loses everything, if allowed.
        case purge
    }

    struct Link: Sendable {
        var isCut = false
        /// Per hundred.
        var lostRequests = 0
        var lostAnswers = 0
        /// Very late ones per hundred.
        var lateRequests = 0
        var lateAnswers = 0

        var isFaultless: Bool { !isCut && lostRequests + lostAnswers + lateRequests + lateAnswers == 0 }
    }

    struct Options: Sendable {
        var relays = 3
        var slots = 4
        /// The maximum drift of clocks, fast or slow, in thousandths.
        var drift = 10
        /// The term of the last fences in the stream, if it is older than the bucket; otherwise zero.
        var oldTerm = 0
        /// Whether the bucket may lose acknowledged records.
        var isForgetful = false
    }

    let seed: UInt64
    var options = Options()
    var steps: [Step<Happening>] = []

    static let simplifications: [@Sendable (inout Options) -> Void] = [
        { $0.drift = 0 }, { $0.oldTerm = 0 }, { $0.isForgetful = false }, { $0.slots = 1 }, { $0.relays = 2 },
    ]

    init(seed: UInt64) {
        self.seed = seed
        var random = Random(seed: seed)
        options.relays = 2 + random.below(3)
        options.slots = 1 + random.below(6)
        options.oldTerm = random.chance(30) ? 1 + random.below(9) : 0
        options.isForgetful = random.chance(30)
        let choices = Weighted<Happening>([
            (3, { _ in .start }), (2, { .kill($0.below(8)) }), (4, { .pause($0.below(8), $0.seconds(0.1...60)) }),
            (1, { .leave($0.below(8)) }), (1, { .blind($0.below(8)) }), (4, { .link($0.below(8), Self.link(&$0)) }),
            (2, { .election($0.seconds(1...11)) }), (1, { .latency($0.seconds(0.001...1)) }),
            (options.isForgetful ? 4 : 0, { .forget($0.below(8)) }), (options.isForgetful ? 1 : 0, { _ in .purge }),
            (options.isForgetful ? 2 : 0, { .revive($0.below(8)) }),
            (options.isForgetful ? 2 : 0, { .dropFence($0.below(8)) }),
        ])
        for _ in 0..<(5 + random.below(25)) {
            steps.append(Step(wait: random.seconds(0...20), happening: choices.pick(&random)))
        }
    }

    private static func link(_ random: inout Random) -> Link {
        guard !random.chance(30) else { return Link() }
        return Link(
            isCut: random.chance(30), lostRequests: random.pick([0, 5, 30]), lostAnswers: random.pick([0, 5, 30]),
            lateRequests: random.pick([0, 5, 20]), lateAnswers: random.pick([0, 5, 20]))
    }
}

enum RelayKind: String, CaseIterable {
    case starts, kills, pauses, leaves, takings, refusals = "refused writes", unknowns = "writes with unknown ends"
    case forgotten = "records lost", revived = "records come to light", purges
    case droppedFences = "fences dropped", fencesOfOthers = "fences of others"
    case losses = "heartbeats lost", moves = "slots given to another", messages
    case lateMessages = "messages of an old term"
    case preparations, handOvers = "slots handed over"
}
