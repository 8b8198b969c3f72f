import Basics

/// The planned events for the devices of a few users in encrypted rooms.
struct EncryptionSchedule: Schedule {
    /// The fate of a request.
    enum Fate: Sendable {
        case fine, requestLost, answerLost
        case late(Duration)
    }

    /// How a process ends.
    enum End: Sendable {
        case now
        /// The machine's next step is made, but not stored.
        case beforeCommit
        /// The machine's next message is stored, but not sent.
        case beforeSending
    }

    /// Devices are numbered in the order of their logins; users and rooms from zero.
    enum Happening: Sendable {
        case say(device: Int, room: Int)
        case membership(EncryptionServer.Membership, user: Int, room: Int)
        /// Toggles whether new members may read earlier messages.
        case visibility(room: Int)
        /// The fate of a device's next requests.
        case fates(device: Int, [Fate])
        case syncing(device: Int, Bool)
        case end(device: Int, End)
        case login(user: Int)
        case logout(device: Int)
        case block(Bool, device: Int, by: Int)
        /// A device and the other devices of its user trust each other from now on.
        case verify(device: Int)
        case discardSession(device: Int, room: Int)
    }

    struct Options: Sendable {
        /// Maximum events per room in the answer to a sync.
        var limit = 10
        /// Maximum messages per session.
        var rotation = 100
    }

    static let (users, rooms, devices) = (3, 2, 7)

    let seed: UInt64
    var options = Options()
    var steps: [Step<Happening>] = []

    static let simplifications: [@Sendable (inout Options) -> Void] = [{ $0.limit = 10 }, { $0.rotation = 100 }]

    init(seed: UInt64) {
        self.seed = seed
        var random = Random(seed: seed)
        options.limit = random.pick([1, 2, 3, 10])
        options.rotation = random.pick([1, 2, 3, 5, 100])
        for _ in 0..<6 + random.below(40) {
            steps.append(Step(wait: Self.waits.pick(&random), happening: Self.happenings.pick(&random)))
        }
    }

    private static let waits = Weighted<Duration>([
        (5, { _ in .zero }), (8, { $0.seconds(0...0.1) }), (5, { $0.seconds(0.1...1) }), (3, { $0.seconds(1...20) }),
        (1, { $0.seconds(600...8000) }),
    ])

    private static let fates = Weighted<Fate>([
        (3, { _ in .fine }), (3, { _ in .requestLost }), (4, { _ in .answerLost }), (4, { .late($0.seconds(0...12)) }),
    ])

    private static let memberships = Weighted<EncryptionServer.Membership>([
        (6, { _ in .join }), (5, { _ in .leave }), (2, { _ in .invite }),
    ])

    private static let ends = Weighted<End>([
        (2, { _ in .now }), (3, { _ in .beforeCommit }), (3, { _ in .beforeSending }),
    ])

    private static let happenings = Weighted<Happening>([
        (30, { .say(device: $0.below(devices), room: $0.below(rooms)) }),
        (14, { .membership(memberships.pick(&$0), user: $0.below(users), room: $0.below(rooms)) }),
        (2, { .visibility(room: $0.below(rooms)) }),
        (
            8,
            { random in
                .fates(device: random.below(devices), (0...random.below(6)).map { _ in fates.pick(&random) })
            }
        ),
        (8, { .syncing(device: $0.below(devices), $0.chance(60)) }),
        (7, { .end(device: $0.below(devices), ends.pick(&$0)) }), (4, { .login(user: $0.below(users)) }),
        (2, { .logout(device: $0.below(devices)) }),
        (3, { .block($0.chance(60), device: $0.below(devices), by: $0.below(devices)) }),
        (5, { .verify(device: $0.below(devices)) }),
        (1, { .discardSession(device: $0.below(devices), room: $0.below(rooms)) }),
    ])
}
