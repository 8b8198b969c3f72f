import Basics
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

@testable import MatrixKit

@MainActor @Suite struct RoomInboxTests {
    private func ids(_ reports: [SessionReport]) -> [String] {
        reports.flatMap { report -> [String] in
            guard case .notices(let notices) = report else { return ["sending"] }
            return notices.map { if case .relationsChanged(_, let eventId) = $0 { eventId } else { "?" } }
        }
    }

    /// Runs in its own process because other tests hold the main actor, and the parts are taken between its turns.
    @Test func aLongReportIsTakenInParts_inOrder_andWithoutOtherRooms() async {
        await #expect(processExitsWith: .success) { await RoomInboxTests().takeALongReport() }
    }

    private func takeALongReport() async {
        var batches: [[String]] = []
        let inbox = RoomInbox(roomId: "!r:s", room: { nil }) { reports, _ in batches.append(ids(reports)) }
        let notices = (0..<1001).flatMap { number in
            [SessionNotice.relationsChanged(roomId: "!r:s", eventId: "$\(number)"), .gap(roomId: "!other:s")]
        }
        inbox.add(.notices(notices))
        inbox.add(.sendingChanged(roomId: "!other:s"))
        inbox.add(.sendingChanged(roomId: "!r:s"))
        #expect(await eventually { await MainActor.run { batches.last?.last == "sending" } })
        #expect(batches.flatMap { $0 } == (0..<1001).map { "$\($0)" } + ["sending"])
        #expect(batches.allSatisfy { $0.count <= 250 })
    }
}
