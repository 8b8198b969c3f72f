public import Foundation
public import MatrixSDK

/// The identifier of the class that creates a room's bubbles: see
/// ``MXKDataSource/registerCellDataClass(_:forCellIdentifier:)``.
public let kMXKRoomBubbleCellDataIdentifier = "kMXKRoomBubbleCellDataIdentifier"

/// A bubble with one or more events of the same sender.
///
/// To use your own class, subclass ``MXKRoomBubbleCellData`` or conform to this protocol.
@MainActor
public protocol MXKRoomBubbleCellDataStoring: MXKCellData {
    /// Creates a bubble of one event; returns `nil` if there is nothing to show.
    init?(event: MXEvent, andRoomState roomState: MXRoomState?, andRoomDataSource roomDataSource: MXKRoomDataSource)

    /// The sender of the bubble.
    var senderId: String { get }
    /// The member that the first event is about, if it is a member event.
    var targetId: String? { get }
    /// The room id.
    var roomId: String { get }
    /// The sender's name at the time of sending.
    var senderDisplayName: String? { get }
    /// The sender's avatar at the time of sending.
    var senderAvatarUrl: String? { get }
    /// The name of that member.
    var targetDisplayName: String? { get }
    /// The avatar of that member.
    var targetAvatarUrl: String? { get }
    /// Whether the room is encrypted.
    var isEncryptedRoom: Bool { get }
    /// Whether the bubble is the first of its day.
    var isPaginationFirstBubble: Bool { get set }
    /// Whether the preceding bubble already shows the sender.
    var shouldHideSenderInformation: Bool { get set }
    /// Whether the bubble has nothing to show.
    var hasNoDisplay: Bool { get }
    /// The events, oldest first.
    var events: [MXEvent] { get }
    /// The file of its event.
    var attachment: MXKAttachment? { get }
    /// The date of the first event.
    var date: Date? { get }
    /// Whether another user sent the bubble.
    var isIncoming: Bool { get }
    /// Whether its file is shown as a thumbnail.
    var isAttachmentWithThumbnail: Bool { get }
    /// Whether its file is shown as an icon.
    var isAttachmentWithIcon: Bool { get }
    /// Whether the bubble has text.
    var hasAttributedTextMessage: Bool { get }
    /// The concatenated texts of its events.
    var attributedTextMessage: NSAttributedString? { get }
    /// The concatenated texts without attributes.
    var textMessage: String? { get }
    /// Whether the text already includes the sender's name, as in an emote.
    var shouldHideSenderName: Bool { get }
    /// Whether the sender is typing.
    var isTyping: Bool { get set }
    /// Whether the time is shown.
    var showBubbleDateTime: Bool { get set }
    /// Whether receipts are shown.
    var showBubbleReceipts: Bool { get set }
    /// A value for the application's own use.
    var tag: Int { get set }

    /// Updates a changed event.
    ///
    /// - Returns: The number of events left; zero if the bubble should be removed.
    func updateEvent(_ eventId: String, with event: MXEvent) -> UInt
    /// Removes an event.
    ///
    /// - Returns: The number of events left.
    func removeEvent(_ eventId: String) -> UInt
    /// Removes an event and those that follow it.
    ///
    /// - Returns: The number of events left, and the removed events.
    func removeEvents(fromEvent eventId: String) -> (left: UInt, removed: [MXEvent])
    /// Returns whether another bubble has the same sender, with the same name and avatar.
    func hasSameSender(asBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool
    /// Returns the text with one event highlighted.
    func attributedTextMessage(withHighlightedEvent eventId: String) -> NSAttributedString?
    /// Highlights every occurrence of a pattern; pass `nil` to remove the highlight.
    func highlightPattern(inTextMessage pattern: String?)
    /// Discards the texts so that they are recreated on demand.
    func invalidateTextLayout()

    /// Whether the bubble can be part of a collapsed series.
    var collapsable: Bool { get set }
    /// Whether the bubble is collapsed into one line with its series.
    var collapsed: Bool { get set }
    /// The text of the collapsed series, held by its first bubble.
    var collapsedAttributedTextMessage: NSAttributedString? { get set }
    /// The previous bubble in the series.
    var prevCollapsableCellData: (any MXKRoomBubbleCellDataStoring)? { get set }
    /// The next bubble in the series.
    var nextCollapsableCellData: (any MXKRoomBubbleCellDataStoring)? { get set }
    /// The room's state before the series.
    var collapseState: MXRoomState? { get set }
    /// Returns whether the next bubble belongs to the same series.
    func collapse(with cellData: any MXKRoomBubbleCellDataStoring) -> Bool

    /// Adds an event if it belongs to this bubble: after the existing events, or before them if it is older.
    ///
    /// - Returns: Whether the event was added. An event with nothing to show belongs to any bubble.
    func addEvent(_ event: MXEvent, andRoomState roomState: MXRoomState?) -> Bool
    /// Merges the events of the next bubble if they belong to this one.
    func merge(withBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool
}

extension MXKRoomBubbleCellDataStoring {
    /// The default implementation adds nothing.
    public func addEvent(_ event: MXEvent, andRoomState roomState: MXRoomState?) -> Bool { false }
    /// The default implementation merges nothing.
    public func merge(withBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool { false }
}
