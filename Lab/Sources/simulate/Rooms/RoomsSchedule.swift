import Basics

/// The planned events in the rooms of one account.
struct RoomsSchedule: Schedule {
    /// Actions of other users, and of our own with another program.
    enum Deed: Sendable {
        case say, react, edit, redact, redactLast, topic, come, go, rename
        case ownSay, ownLeave, ownJoin, ownRead
        case message
    }

    /// Actions of the application.
    enum Call: Sendable {
        case send, react, resend, giveUp, read, page, loadMembers, trim
    }

    /// The fate of one of the application's requests.
    enum Fate: Sendable {
        case fine, requestLost, answerLost
        case late(Duration)
    }

    enum Happening: Sendable {
        case deed(Deed, room: Int, count: Int)
        case call(Call, room: Int)
        case fate(Fate)
        /// Whether syncs are made.
        case syncing(Bool)
        /// Answers to syncs are lost or late.
        case syncFate(Fate)
        /// The process ends, and a new one starts from the store.
        case restart
        /// The next answer is applied but not stored: the process ends.
        case endBeforeCommit
        /// The next answer is applied and stored, but not delivered: the process ends.
        case endBeforeTelling
        /// The homeserver forgets its old tokens.
        case streamReset
    }

    struct Options: Sendable {
        var filter = RoomsServer.Filter()
        var namesTransactions = true
        var marksRejoinings = true
        /// Whether each process gets everything since the last notice of the previous one.
        var catchesUp = false
    }

    static let rooms = 3

    let seed: UInt64
    var options = Options()
    var steps: [Step<Happening>] = []

    static let simplifications: [@Sendable (inout Options) -> Void] = [
        { $0.namesTransactions = true }, { $0.marksRejoinings = true }, { $0.catchesUp = false },
        { $0.filter.isLazy = false },
        { $0.filter.limit = 3 },
    ]

    init(seed: UInt64) {
        self.seed = seed
        var random = Random(seed: seed)
        options.filter.limit = random.pick([1, 2, 3, 3, 5, 10])
        options.filter.isLazy = random.chance(60)
        options.namesTransactions = random.chance(80)
        options.marksRejoinings = random.chance(70)
        options.catchesUp = random.chance(50)
        for _ in 0..<6 + random.below(40) {
            steps.append(Step(wait: Self.waits.pick(&random), happening: Self.happenings.pick(&random)))
        }
    }

    private static let waits = Weighted<Duration>([
        (5, { _ in .zero }), (8, { $0.seconds(0...0.1) }), (4, { $0.seconds(0.1...1) }), (2, { $0.seconds(1...10) }),
    ])

    private static let deeds = Weighted<Deed>([
        (30, { _ in .say }), (8, { _ in .react }), (6, { _ in .edit }), (6, { _ in .redact }),
        (4, { _ in .redactLast }),
        (2, { _ in .topic }), (4, { _ in .come }), (4, { _ in .go }), (2, { _ in .rename }), (6, { _ in .ownSay }),
        (5, { _ in .ownLeave }), (8, { _ in .ownJoin }), (4, { _ in .ownRead }), (5, { _ in .message }),
    ])

    private static let calls = Weighted<Call>([
        (12, { _ in .send }), (4, { _ in .react }), (6, { _ in .resend }), (1, { _ in .giveUp }), (4, { _ in .read }),
        (6, { _ in .page }), (3, { _ in .loadMembers }), (3, { _ in .trim }),
    ])

    private static let fates = Weighted<Fate>([
        (5, { _ in .fine }), (2, { _ in .requestLost }), (3, { _ in .answerLost }), (4, { .late($0.seconds(0...8)) }),
    ])

    private static let happenings = Weighted<Happening>([
        (
            40,
            {
                .deed(
                    deeds.pick(&$0), room: $0.below(rooms), count: $0.chance(60) ? 1 : 2 + $0.below(6))
            }
        ),
        (26, { .call(calls.pick(&$0), room: $0.below(rooms)) }), (8, { .fate(fates.pick(&$0)) }),
        (14, { .syncing($0.chance(60)) }), (4, { .syncFate(fates.pick(&$0)) }), (5, { _ in .restart }),
        (3, { _ in .endBeforeCommit }), (2, { _ in .endBeforeTelling }), (1, { _ in .streamReset }),
    ])
}
