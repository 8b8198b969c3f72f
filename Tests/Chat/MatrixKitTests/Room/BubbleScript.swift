import Foundation
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import Testing

@testable import MatrixKit

/// A data source that is fed by hand, and its view: a list that knows only the reports.
@MainActor
final class BubbleScript: MXKDataSourceDelegate {
    let session: MXSession
    let source: MXKRoomDataSource
    /// The list that results from the reports.
    private(set) var shown: [ObjectIdentifier] = []
    private(set) var reports = 0
    private(set) var updated: Set<Int> = []

    init(
        bubbles: MXKRoomDataSourceBubblesPagination = .perDay, zone: String = "UTC",
        _ change: (MXKRoomDataSource) -> Void = { _ in }
    ) {
        let credentials = MXCredentials(homeServer: "http://127.0.0.1:1", userId: "@a:s", accessToken: "token")
        session = MXSession(matrixRestClient: MXRestClient(credentials: credentials, options: .quick))
        source = MXKRoomDataSource(roomId: Story.room, andMatrixSession: session)
        source.bubblesPagination = bubbles
        source.eventFormatter = BubbleScript.formatter(session, zone: zone)
        change(source)
        source.delegate = self
    }

    static func formatter(_ session: MXSession?, zone: String = "UTC") -> MXKEventFormatter {
        let formatter = MXKEventFormatter(matrixSession: session)
        formatter.settings = MXKAppSettings()
        formatter.locale = Locale(identifier: "en_GB")
        if let zone = TimeZone(identifier: zone) { formatter.timeZone = zone }
        return formatter
    }

    // MARK: Feeding

    func live(_ story: Story, _ range: Range<Int>? = nil) {
        for index in range ?? story.events.indices {
            source.add(story.events[index], state: story.states[index], isOlder: false)
        }
        source.report()
    }

    func page(_ story: Story, _ range: Range<Int>) {
        for index in range.reversed() { source.add(story.events[index], state: story.states[index], isOlder: true) }
        source.report()
    }

    func update(_ events: MXEvent...) {
        for event in events { source.update(event) }
        source.report()
    }

    // MARK: Shown content

    struct Line: Equatable, CustomStringConvertible {
        let id: String
        let text: String
        let saysName: Bool
        let beginsDay: Bool
        let isCollapsed: Bool
        var description: String {
            "\(beginsDay ? "day " : "")\(saysName ? "name " : "")\(isCollapsed ? "collapsed " : "")\(id) \(text)\n"
        }
    }

    var bubbles: [MXKRoomBubbleCellData] {
        (0..<source.numberOfCells).compactMap { source.cellData(at: $0) as? MXKRoomBubbleCellData }
    }

    /// The events of each bubble.
    var ids: [[String]] { bubbles.map { $0.events.map(\.eventId) } }

    /// The events in order, with the lines shown above each.
    var lines: [Line] {
        bubbles.flatMap { bubble in
            bubble.bubbleComponents.enumerated().map { index, component in
                Line(
                    id: component.event.eventId, text: component.textMessage ?? "",
                    saysName: index == 0 && component.event.isConversation && !bubble.shouldHideSenderInformation
                        && !bubble.shouldHideSenderName,
                    beginsDay: index == 0 && bubble.isPaginationFirstBubble, isCollapsed: bubble.collapsed)
            }
        }
    }

    // MARK: Reports

    func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? { nil }
    func cellReuseIdentifier(for cellData: MXKCellData) -> String? { nil }

    func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) {
        reports += 1
        let now = source.list.cells.map { ObjectIdentifier($0) }
        guard let changes = changes as? MXKCellChanges else { return shown = now }
        for index in changes.removed.reversed() { shown.remove(at: index) }
        for index in changes.inserted { shown.insert(now[index], at: index) }
        #expect(changes.moved.isEmpty)
        #expect(shown == now)
        updated = Set(changes.updated)
    }
}
