public import Foundation
public import MatrixProtocol
import MatrixSDK

/// The identifier of the class that creates the cells of room lists.
public let kMXKRecentCellIdentifier = "kMXKRecentCellIdentifier"

/// A room in a list.
@MainActor
public protocol MXKRecentCellDataStoring: MXKCellData {
    /// Creates a cell from a room summary.
    init(roomSummary: MXRoomSummary, dataSource: MXKDataSource)

    /// The room summary.
    var roomSummary: MXRoomSummary { get }
    /// The room id.
    var roomIdentifier: String { get }
    /// The room's name.
    var roomDisplayname: String? { get }
    /// The room's avatar.
    var avatarUrl: String? { get }
    /// The last message in one line, with its sender.
    var lastEventTextMessage: String? { get }
    /// The last message with attributes.
    var lastEventAttributedTextMessage: NSAttributedString? { get }
    /// The date of the last message.
    var lastEventDate: String? { get }
    /// Whether the room has unread events.
    var hasUnread: Bool { get }
    /// The number of unread messages for which the push rules notify.
    var notificationCount: UInt { get }
    /// The number of unread messages that the push rules highlight.
    var highlightCount: UInt { get }
    /// The text of a badge for ``notificationCount``; empty for zero.
    var notificationCountStringValue: String { get }
    /// Always false: servers do not suggest rooms.
    var isSuggestedRoom: Bool { get }
}

/// A room in a list. The text of its last message is created on demand.
@MainActor
open class MXKRecentCellData: MXKCellData, MXKRecentCellDataStoring {
    /// The room summary.
    public let roomSummary: MXRoomSummary
    /// The data source of the cell.
    public private(set) weak var dataSource: MXKDataSource?
    private var lastMessage: MXKText??

    /// Creates a cell from a room summary.
    public required init(roomSummary: MXRoomSummary, dataSource: MXKDataSource) {
        self.roomSummary = roomSummary
        self.dataSource = dataSource
        super.init()
    }

    /// The room id.
    open var roomIdentifier: String { roomSummary.roomId }
    /// The room's name.
    open var roomDisplayname: String? { roomSummary.displayName.isEmpty ? nil : roomSummary.displayName }
    /// The room's avatar.
    open var avatarUrl: String? { roomSummary.avatar }
    /// The number of unread messages for which the push rules notify.
    open var notificationCount: UInt { UInt(max(roomSummary.notificationCount, 0)) }
    /// The number of unread messages that the push rules highlight.
    open var highlightCount: UInt { UInt(max(roomSummary.highlightCount, 0)) }
    /// The text of a badge for ``notificationCount``; empty for zero.
    open var notificationCountStringValue: String { notificationCount == 0 ? "" : String(notificationCount) }
    /// Always false: servers do not suggest rooms.
    open var isSuggestedRoom: Bool { false }

    /// Whether the room has unread events.
    open var hasUnread: Bool { roomSummary.isUnread }

    /// The last message in the form that renderers use.
    open var lastEventText: MXKText? {
        if let lastMessage { return lastMessage }
        let text = makeLastMessage()
        lastMessage = .some(text)
        return text
    }

    private var formatter: MXKEventFormatter? { (dataSource as? MXKSessionRecentsDataSource)?.eventFormatter }

    private func makeLastMessage() -> MXKText? {
        guard let formatter, let room = dataSource?.mxSession?.room(withRoomId: roomIdentifier) else { return nil }
        if roomSummary.membership == .invite {
            return roomSummary.inviter.map {
                MXKText(
                    formatter.language.text("member.invited.me", ["sender": room.state?.members.memberName($0) ?? $0]))
            }
        }
        guard let last = room.lastMessage else { return nil }
        let event = room.edited(last)
        var text = (try? formatter.text(from: event, with: room.state)) ?? nil
        guard var line = text, !event.isState else { return text }
        let isMe = event.sender == dataSource?.mxSession?.credentials?.userId
        if event.contentJSON["msgtype"]?.string != "m.emote", isMe || !roomSummary.isDirect {
            let name = formatter.senderDisplayName(for: event, with: room.state) ?? event.sender
            let words = formatter.language.text(isMe ? "subtitle.you" : "subtitle", ["sender": name, "text": ""])
            line.prepend(MXKText.Run(words))
            text = line
        }
        return text
    }

    /// The last message in one line, with its sender.
    open var lastEventTextMessage: String? {
        lastEventText.map { $0.plain.split(whereSeparator: \.isNewline).joined(separator: " ") }
    }

    /// The last message with attributes.
    open var lastEventAttributedTextMessage: NSAttributedString? { lastEventText?.attributed }

    /// The date of the last message.
    open var lastEventDate: String? {
        roomSummary.lastMessageTs == 0
            ? nil : formatter?.dateString(fromTimestamp: roomSummary.lastMessageTs, withTime: false)
    }
}

extension MXRoomSummary {
    /// Whether the room has unread events or the user has marked it as unread.
    package var isUnread: Bool { localUnreadEventCount > 0 || isMarkedUnread || notificationCount > 0 }
}

extension IndexPath {
    /// Creates an index path from a row and a section.
    public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

    /// The section.
    public var section: Int { self[0] }

    /// The row within the section.
    public var row: Int { self[1] }
}
