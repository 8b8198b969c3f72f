public import Foundation
public import MatrixProtocol
import MatrixSDK

/// What stands for the class that makes the cells of lists of rooms.
public let kMXKRecentCellIdentifier = "kMXKRecentCellIdentifier"

/// A room in a list.
@MainActor
public protocol MXKRecentCellDataStoring: MXKCellData {
    /// A room as its summary has it.
    init(roomSummary: MXRoomSummary, dataSource: MXKDataSource)

    /// What is known of the room.
    var roomSummary: MXRoomSummary { get }
    /// The room.
    var roomIdentifier: String { get }
    /// Its name.
    var roomDisplayname: String? { get }
    /// Its picture.
    var avatarUrl: String? { get }
    /// The last message in one line, with its sender.
    var lastEventTextMessage: String? { get }
    /// The same with attributes.
    var lastEventAttributedTextMessage: NSAttributedString? { get }
    /// When that was.
    var lastEventDate: String? { get }
    /// Whether there is something unread in it.
    var hasUnread: Bool { get }
    /// Unread messages that the push rules notify of.
    var notificationCount: UInt { get }
    /// Those of them that the push rules highlight.
    var highlightCount: UInt { get }
    /// ``notificationCount`` for a badge; empty for none.
    var notificationCountStringValue: String { get }
    /// Always false: the server suggests no rooms.
    var isSuggestedRoom: Bool { get }
}

/// A room in a list. Its last message is put into words when somebody asks.
@MainActor
open class MXKRecentCellData: MXKCellData, MXKRecentCellDataStoring {
    /// What is known of the room.
    public let roomSummary: MXRoomSummary
    /// The list that it belongs to.
    public private(set) weak var dataSource: MXKDataSource?
    private var lastMessage: MXKText??

    /// A room as its summary has it.
    public required init(roomSummary: MXRoomSummary, dataSource: MXKDataSource) {
        self.roomSummary = roomSummary
        self.dataSource = dataSource
        super.init()
    }

    /// The room.
    open var roomIdentifier: String { roomSummary.roomId }
    /// Its name.
    open var roomDisplayname: String? { roomSummary.displayName.isEmpty ? nil : roomSummary.displayName }
    /// Its picture.
    open var avatarUrl: String? { roomSummary.avatar }
    /// Unread messages that the push rules notify of.
    open var notificationCount: UInt { UInt(max(roomSummary.notificationCount, 0)) }
    /// Those of them that the push rules highlight.
    open var highlightCount: UInt { UInt(max(roomSummary.highlightCount, 0)) }
    /// ``notificationCount`` for a badge; empty for none.
    open var notificationCountStringValue: String { notificationCount == 0 ? "" : String(notificationCount) }
    /// Always false: the server suggests no rooms.
    open var isSuggestedRoom: Bool { false }

    /// Whether there is something unread in it.
    open var hasUnread: Bool { roomSummary.isUnread }

    /// The last message, as renderers use it.
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

    /// The same with attributes.
    open var lastEventAttributedTextMessage: NSAttributedString? { lastEventText?.attributed }

    /// When that was.
    open var lastEventDate: String? {
        roomSummary.lastMessageTs == 0
            ? nil : formatter?.dateString(fromTimestamp: roomSummary.lastMessageTs, withTime: false)
    }
}

extension MXRoomSummary {
    /// Whether there is something unread in the room, or the user has marked it so.
    package var isUnread: Bool { localUnreadEventCount > 0 || isMarkedUnread || notificationCount > 0 }
}

extension IndexPath {
    /// A cell of a section, as lists of rooms name it.
    public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

    /// The section.
    public var section: Int { self[0] }

    /// The cell in its section.
    public var row: Int { self[1] }
}
