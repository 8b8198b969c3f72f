public import Foundation
public import MatrixSDK

/// What stands for the class that makes the bubbles of a room: see ``MXKDataSource/registerCellDataClass(_:forCellIdentifier:)``.
public let kMXKRoomBubbleCellDataIdentifier = "kMXKRoomBubbleCellDataIdentifier"

/// A bubble: one event, or some of the same sender.
///
/// Whoever brings a class of their own subclasses ``MXKRoomBubbleCellData``, or writes a class that conforms to this.
@MainActor
public protocol MXKRoomBubbleCellDataStoring: MXKCellData {
    /// A bubble of one event; nil if there is nothing to show.
    init?(event: MXEvent, andRoomState roomState: MXRoomState?, andRoomDataSource roomDataSource: MXKRoomDataSource)

    /// Who sent it.
    var senderId: String { get }
    /// Whom the first event is about, if it is about a member.
    var targetId: String? { get }
    /// The room.
    var roomId: String { get }
    /// The sender's name when it was sent.
    var senderDisplayName: String? { get }
    /// The sender's picture when it was sent.
    var senderAvatarUrl: String? { get }
    /// The name of whom it is about.
    var targetDisplayName: String? { get }
    /// The picture of whom it is about.
    var targetAvatarUrl: String? { get }
    /// Whether the room is encrypted.
    var isEncryptedRoom: Bool { get }
    /// Whether it is the first of its day.
    var isPaginationFirstBubble: Bool { get set }
    /// Whether the bubble before says who it is from.
    var shouldHideSenderInformation: Bool { get set }
    /// Whether there is nothing to see in it.
    var hasNoDisplay: Bool { get }
    /// Its events, oldest first.
    var events: [MXEvent] { get }
    /// The file of its event.
    var attachment: MXKAttachment? { get }
    /// Of its first event.
    var date: Date? { get }
    /// Whether it is from somebody else.
    var isIncoming: Bool { get }
    /// Whether its file is shown as a picture.
    var isAttachmentWithThumbnail: Bool { get }
    /// Whether its file is shown as a sign.
    var isAttachmentWithIcon: Bool { get }
    /// Whether there is text in it.
    var hasAttributedTextMessage: Bool { get }
    /// The texts of its events, one after the other.
    var attributedTextMessage: NSAttributedString? { get }
    /// The same without attributes.
    var textMessage: String? { get }
    /// Whether the name stands in the text: it is an emote.
    var shouldHideSenderName: Bool { get }
    /// Whether the sender is typing.
    var isTyping: Bool { get set }
    /// Whether the time is shown.
    var showBubbleDateTime: Bool { get set }
    /// Whether receipts are shown.
    var showBubbleReceipts: Bool { get set }
    /// For the application.
    var tag: Int { get set }

    /// One of its events has changed.
    ///
    /// - Returns: How many events are left in it; none if it should go.
    func updateEvent(_ eventId: String, with event: MXEvent) -> UInt
    /// Takes an event out.
    ///
    /// - Returns: How many events are left in it.
    func removeEvent(_ eventId: String) -> UInt
    /// Takes out an event and those that follow it.
    ///
    /// - Returns: How many events are left, and those that are gone.
    func removeEvents(fromEvent eventId: String) -> (left: UInt, removed: [MXEvent])
    /// Whether the other bubble is from the same sender, under the same name and picture.
    func hasSameSender(asBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool
    /// The text with one of its events marked.
    func attributedTextMessage(withHighlightedEvent eventId: String) -> NSAttributedString?
    /// Marks a pattern wherever it stands; nil marks nothing.
    func highlightPattern(inTextMessage pattern: String?)
    /// Its texts are made anew when somebody asks for them.
    func invalidateTextLayout()

    /// Whether it can be one of a series that is shown as one line.
    var collapsable: Bool { get set }
    /// Whether it is shown as one line with its series.
    var collapsed: Bool { get set }
    /// What that line says; the first of a series has it.
    var collapsedAttributedTextMessage: NSAttributedString? { get set }
    /// The one before it in its series.
    var prevCollapsableCellData: (any MXKRoomBubbleCellDataStoring)? { get set }
    /// The one after it in its series.
    var nextCollapsableCellData: (any MXKRoomBubbleCellDataStoring)? { get set }
    /// The room's state before the series.
    var collapseState: MXRoomState? { get set }
    /// Whether the other bubble, which follows, belongs to the same series.
    func collapse(with cellData: any MXKRoomBubbleCellDataStoring) -> Bool

    /// Takes an event in, if it belongs to this bubble: after its events, or before them if it is older.
    ///
    /// - Returns: Whether it did. An event with nothing to show belongs to any bubble.
    func addEvent(_ event: MXEvent, andRoomState roomState: MXRoomState?) -> Bool
    /// Takes the events of the next bubble in, if they belong to this one.
    func merge(withBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool
}

extension MXKRoomBubbleCellDataStoring {
    /// It does not.
    public func addEvent(_ event: MXEvent, andRoomState roomState: MXRoomState?) -> Bool { false }
    /// It does not.
    public func merge(withBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool { false }
}
