import Basics
import Foundation
import JSONBytes
public import MatrixSDK
import Realtime

/// The rooms of a Matrix account. Its unit is `matrix:<user>`.
///
/// Relays the timelines of the rooms that the user is in: each event once, resuming at the last position on any relay.
/// The relay fetches events that a sync leaves out of a room, up to 16 MiB, while all rooms of the account wait. Events
/// that it cannot fetch are a gap. It does not relay typing, receipts or presence. Messages of encrypted rooms stay
/// encrypted: only one process receives the keys of a login.
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

    /// Creates a source.
    ///
    /// - Parameter client: A client that is logged in.
    public convenience init(client: MXRestClient) { self.init(MatrixHistory(client: client)) }

    init(_ history: MatrixHistory) {
        (client, self.history) = (history.client, history)
        unit = "matrix:" + (client.credentials?.userId ?? "")
    }

    /// The unit of the account.
    public var units: [String] { [unit] }

    /// True: the server stores missed events.
    public var hasHistory: Bool { true }

    /// The time at which the relay started to fetch events left out of a sync; nil if it is not fetching any.
    public var completeTime: Date? { run.withLock { $0 }?.intake.fillingSince }

    /// Starts to sync.
    public func start(_ unit: String, from position: String?, into inlet: RelayInlet) async throws {
        await stop(unit)
        var options = MXSessionOptions()
        options.timelineLimit = 100
        let session = MXSession(matrixRestClient: client, options: options)
        let known = position.flatMap { MatrixPosition($0) }
        // For an unknown position, the first sync returns events as old as the account.
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
            // There are no listeners yet. The session catches up on rooms that it knows.
            try await session.syncOnce()
            session.catchUp(since: known.token, from: known.date)
        }
        session.attach(intake)
        intake.hold(isHeld.withLock { $0 })
        try await session.start()
    }

    /// Stops the sync.
    public func stop(_ unit: String) async {
        guard let old = run.exchange(nil) else { return }
        old.session.detach(old.intake)
        await old.intake.stop()
        old.session.close()
    }

    /// Pauses the sync while held.
    public func hold(_ isHeld: Bool) {
        self.isHeld.withLock { $0 = isHeld }
        run.withLock { $0 }?.intake.hold(isHeld)
    }

    /// Two accounts in one room have the same event, of which one copy is kept.
    private static func id(of event: RealtimeEvent) -> String? {
        guard let room = event.channelName?.dropFirst("matrix:".count), room.hasPrefix("!"),
            let id = event.json["event_id"]?.string, !id.isEmpty
        else { return nil }
        return "\(room)/\(id)"
    }
}

/// A token of the sync, and the time at which it was reached.
struct MatrixPosition: Hashable {
    let token: String
    let date: Date

    init(token: String, date: Date) { (self.token, self.date) = (token, date) }

    /// - Returns: `nil` for a text that ``text`` did not create.
    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let time = Int64(parts[0]) else { return nil }
        self.init(token: String(parts[1]), date: Date(timeIntervalSince1970: Double(time) / 1000))
    }

    var text: String { "\(date.milliseconds) \(token)" }
}
