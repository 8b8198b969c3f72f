import Basics
import MatrixProtocol
import MatrixSDK

/// Delivers a session's reports about one room to the main actor in order, with the data needed to handle them. Between
/// batches of a few hundred notices the main actor is free for other work.
final class RoomInbox: Sendable {
    private static let noticesAtOnce = 250

    private let roomId: String
    private let inbox = Lock(SerialInbox<SessionReport>())
    private let room: @Sendable () -> MXRoom?
    private let receive: @MainActor @Sendable ([SessionReport], RoomReading) -> Void

    init(
        roomId: String, room: @escaping @Sendable () -> MXRoom?,
        _ receive: @escaping @MainActor @Sendable ([SessionReport], RoomReading) -> Void
    ) { (self.roomId, self.room, self.receive) = (roomId, room, receive) }

    func add(_ report: SessionReport) {
        let parts = parts(of: report)
        guard !parts.isEmpty else { return }
        let begins = inbox.withLock { inbox in
            for part in parts { inbox.add(part) }
            return inbox.begin()
        }
        guard begins else { return }
        Task.detached { [self] in
            while let reports = inbox.withLock({ Self.next(&$0) }) {
                await receive(reports, RoomReading(for: reports, of: roomId, in: room()))
            }
        }
    }

    /// Returns the parts that concern the room.
    private func parts(of report: SessionReport) -> [SessionReport] {
        switch report {
        case .notices(let notices):
            let concerning = notices.filter { $0.concernedRoom == roomId || $0.concernedRoom == nil }
            return stride(from: 0, to: concerning.count, by: Self.noticesAtOnce).map { start in
                .notices(Array(concerning[start...].prefix(Self.noticesAtOnce)))
            }
        case .sendingChanged(let roomId): return roomId == self.roomId ? [report] : []
        case .stateChanged, .failed: return []
        }
    }

    /// Returns the reports for one batch; `nil` at the end.
    private static func next(_ inbox: inout SerialInbox<SessionReport>) -> [SessionReport]? {
        guard let first = inbox.next() else { return nil }
        var (reports, count) = ([first], first.noticeCount)
        while let following = inbox.first, count + following.noticeCount <= noticesAtOnce,
            let report = inbox.next()
        {
            reports.append(report)
            count += following.noticeCount
        }
        return reports
    }
}

extension SessionReport {
    fileprivate var noticeCount: Int {
        switch self {
        case .notices(let notices): notices.count
        case .sendingChanged, .stateChanged, .failed: 1
        }
    }
}

extension SessionNotice {
    /// The room of the notice; `nil` if it concerns no particular room.
    var concernedRoom: String? {
        switch self {
        case .live(let live): live.roomId
        case .ephemeral(let event), .roomAccountData(let event), .changed(let event): event.roomId ?? ""
        case .accountData, .presence, .toDevice, .directRoomsChanged, .ignoredUsersChanged: ""
        case .encryption: nil
        case .joined(let roomId), .invited(let roomId, _), .knocked(let roomId), .left(let roomId, _),
            .gap(let roomId, _),
            .decrypted(let roomId, _), .relationsChanged(let roomId, _), .echoConfirmed(let roomId, _, _),
            .summaryChanged(let roomId):
            roomId
        case .unreadChanged(let summary): summary.roomId
        }
    }
}
