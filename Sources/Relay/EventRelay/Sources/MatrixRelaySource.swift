import Basics
import Foundation
import JSONBytes
public import MatrixSDK
import Realtime

/// The rooms of a Matrix account. Its unit is `matrix:<user>`.
///
/// Relays what stands in the timelines of the rooms that the user is in: each event once, from where it was left, whichever
/// relay goes on. The relay asks for what a sync leaves out of a room, up to 16 MiB, while all rooms of the account wait; what
/// it does not get is a gap. It relays neither typing nor receipts nor presence. Messages of encrypted rooms stay encrypted: only
/// one process receives the keys of a login.
public final class MatrixRelaySource: RelaySource {
    private struct Run: Sendable {
        let session: MXSession
        let intake: MatrixIntake
    }

    private let client: MXRestClient
    private let history: MatrixHistory
    private let unit: String
    private let run = Lock<Run?>(nil)
    private let isHeld = Lock(false)

    /// - Parameter client: Logged in.
    public convenience init(client: MXRestClient) { self.init(MatrixHistory(client: client)) }

    init(_ history: MatrixHistory) {
        (client, self.history) = (history.client, history)
        unit = "matrix:" + (client.credentials?.userId ?? "")
    }

    /// The account.
    public var units: [String] { [unit] }

    /// True: the server keeps what was missed.
    public var hasHistory: Bool { true }

    /// When the relay began to ask for what a sync has left out; nil if it does not.
    public var completeTime: Date? { run.withLock { $0 }?.intake.fillingSince }

    /// Begins to sync.
    public func start(_ unit: String, from position: String?, into inlet: RelayInlet) async throws {
        await stop(unit)
        var options = MXSessionOptions()
        options.timelineLimit = 100
        let session = MXSession(matrixRestClient: client, options: options)
        let known = position.flatMap { MatrixPosition($0) }
        // What the first sync brings of a position that is not known is as old as the account.
        let isLive = Lock(known != nil)
        let events = RelayIntake(inlet) { event in
            isLive.withLock { $0 } && Self.id(of: event) != nil
        } id: {
            Self.id(of: $0)
        } onState: { state in
            if state.underlying as? MXSessionState == .running { isLive.withLock { $0 = true } }
        }
        let intake = MatrixIntake(events, of: session, history, since: known?.token)
        run.exchange(Run(session: session, intake: intake))
        if let known {
            // Nobody listens yet. The session catches up on rooms that it knows.
            try await session.syncOnce()
            session.catchUp(since: known.token, from: known.date)
        }
        session.attach(intake)
        intake.hold(isHeld.withLock { $0 })
        try await session.start()
    }

    /// Ends the sync.
    public func stop(_ unit: String) async {
        guard let old = run.exchange(nil) else { return }
        old.session.detach(old.intake)
        await old.intake.stop()
        old.session.close()
    }

    /// Syncs no more as long as it is held.
    public func hold(_ isHeld: Bool) {
        self.isHeld.withLock { $0 = isHeld }
        run.withLock { $0 }?.intake.hold(isHeld)
    }

    /// Two accounts in one room have the same event: one copy is kept.
    private static func id(of event: RealtimeEvent) -> String? {
        guard let room = event.channelName?.dropFirst("matrix:".count), room.hasPrefix("!"),
            let id = event.json["event_id"]?.string, !id.isEmpty
        else { return nil }
        return "\(room)/\(id)"
    }
}

/// A token of the sync, and when it was reached.
struct MatrixPosition: Hashable {
    let token: String
    let date: Date

    init(token: String, date: Date) { (self.token, self.date) = (token, date) }

    /// - Returns: Nil for what ``text`` did not make.
    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let time = Int64(parts[0]) else { return nil }
        self.init(token: String(parts[1]), date: Date(timeIntervalSince1970: Double(time) / 1000))
    }

    var text: String { "\(date.milliseconds) \(token)" }
}
