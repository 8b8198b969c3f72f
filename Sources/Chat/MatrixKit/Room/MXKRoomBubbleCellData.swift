public import Foundation
public import MatrixProtocol
import MatrixSDK

/// A bubble with one event. The default class, ``MXKRoomBubbleCellDataWithAppendingMode``, can hold more.
@MainActor
open class MXKRoomBubbleCellData: MXKCellData, MXKRoomBubbleCellDataStoring {
    /// The data source of the bubble.
    public weak var roomDataSource: MXKRoomDataSource?
    /// The events of the bubble, oldest first.
    public internal(set) var bubbleComponents: [MXKRoomBubbleComponent] = []
    /// The receipts of its events, by event id.
    public var readReceipts: [String: [MXReceipt]] = [:]
    /// The reactions to its events, by event id.
    public var reactions: [String: MXEventAggregations] = [:]
    /// The threads started by its events, by event id.
    public var threads: [String: MXThreadSummary] = [:]
    /// The id of the file's upload; `nil` if nothing is being sent.
    public var uploadId: String?
    /// The progress of the upload from 0 to 1; negative if nothing is being sent.
    public var uploadProgress: CGFloat = -1 { didSet { if uploadProgress != oldValue { touch() } } }

    /// The sender of the bubble.
    public let senderId: String
    /// The room id.
    public let roomId: String
    /// The sender's name at the time of sending.
    public let senderDisplayName: String?
    /// The sender's avatar at the time of sending.
    public let senderAvatarUrl: String?
    /// The file of its event.
    public private(set) var attachment: MXKAttachment?
    /// Whether the bubble is the first of its day.
    public var isPaginationFirstBubble = false
    /// Whether the preceding bubble already shows the sender.
    public var shouldHideSenderInformation = false
    /// Whether the sender is typing.
    public var isTyping = false
    /// Whether the time is shown.
    public var showBubbleDateTime = false
    /// Whether receipts are shown.
    public var showBubbleReceipts = true
    /// A value for the application's own use.
    public var tag = 0
    /// Whether the bubble can be part of a collapsed series.
    public var collapsable = false
    /// Whether the bubble is collapsed into one line with its series.
    public var collapsed = false
    /// The text of the collapsed series, held by its first bubble.
    open var collapsedAttributedTextMessage: NSAttributedString? {
        get { collapsedText ?? summary }
        set { collapsedText = newValue }
    }
    /// The previous bubble in the series.
    public var prevCollapsableCellData: (any MXKRoomBubbleCellDataStoring)? {
        get { previous.map { $0 } }
        set { previous = newValue }
    }
    /// The next bubble in the series.
    public var nextCollapsableCellData: (any MXKRoomBubbleCellDataStoring)? {
        get { next.map { $0 } }
        set { next = newValue }
    }
    /// The room's state before the series.
    public var collapseState: MXRoomState?

    // Both links are weak: releasing a long series would otherwise recurse.
    private weak var previous: (any MXKRoomBubbleCellDataStoring)?
    private weak var next: (any MXKRoomBubbleCellDataStoring)?
    private var collapsedText: NSAttributedString?
    private var pattern: String?
    /// A counter that increases with every change of appearance apart from the components.
    private var ownRevision = 0

    /// Creates a bubble of one event; returns `nil` if there is nothing to show.
    public required init?(
        event: MXEvent, andRoomState roomState: MXRoomState?, andRoomDataSource roomDataSource: MXKRoomDataSource
    ) {
        let formatter = roomDataSource.formatter
        guard
            let component = MXKRoomBubbleComponent(
                event: event, roomState: roomState, eventFormatter: formatter, session: roomDataSource.mxSession)
        else { return nil }
        senderId = event.sender
        roomId = roomDataSource.roomId
        senderDisplayName = formatter.senderDisplayName(for: event, with: roomState)
        senderAvatarUrl = formatter.senderAvatarUrl(for: event, with: roomState)
        super.init()
        self.roomDataSource = roomDataSource
        bubbleComponents = [component]
        readAttachment()
        collapsable = event.type == "m.room.member"
    }

    private func readAttachment() {
        let event = bubbleComponents.first?.event
        attachment = event.flatMap { event in
            eventFormatter?.isSupportedAttachment(event) == true
                ? MXKAttachment(event: event, mxSession: roomDataSource?.mxSession) : nil
        }
    }

    // MARK: Properties

    /// The member that the first event is about, if it is a member event.
    open var targetId: String? {
        guard let event = bubbleComponents.first?.event, event.type == "m.room.member" else { return nil }
        return event.stateKey
    }

    /// The name of that member.
    open var targetDisplayName: String? {
        bubbleComponents.first.flatMap { eventFormatter?.targetDisplayName(for: $0.event, with: $0.roomState) }
    }

    /// The avatar of that member.
    open var targetAvatarUrl: String? {
        bubbleComponents.first.flatMap { eventFormatter?.targetAvatarUrl(for: $0.event, with: $0.roomState) }
    }

    /// Whether the room is encrypted.
    open var isEncryptedRoom: Bool { roomDataSource?.room?.summary.isEncrypted ?? false }

    /// Whether the bubble has nothing to show.
    open var hasNoDisplay: Bool { bubbleComponents.isEmpty }

    /// The events, oldest first.
    public var events: [MXEvent] { bubbleComponents.map(\.event) }

    /// The date of the first event.
    open var date: Date? { bubbleComponents.first?.date }

    /// Whether another user sent the bubble.
    open var isIncoming: Bool { senderId != roomDataSource?.mxSession?.credentials?.userId }

    /// Whether its file is shown as a thumbnail.
    open var isAttachmentWithThumbnail: Bool {
        switch attachment?.type {
        case .image?, .video?, .sticker?: true
        case .undefined?, .audio?, .voiceMessage?, .location?, .file?, nil: false
        }
    }

    /// Whether its file is shown as an icon.
    open var isAttachmentWithIcon: Bool {
        switch attachment?.type {
        case .audio?, .voiceMessage?, .location?, .file?: true
        case .undefined?, .image?, .video?, .sticker?, nil: false
        }
    }

    /// Whether its texts contain a link.
    open var hasLink: Bool { bubbleComponents.contains { !$0.text.links.isEmpty } }

    /// The formatter for its events.
    public var eventFormatter: MXKEventFormatter? { roomDataSource?.formatter }

    /// Whether the encryption state of one of its events calls for a badge.
    open var containsBubbleComponentWithEncryptionBadge: Bool {
        bubbleComponents.contains(where: \.showEncryptionBadge)
    }

    /// A number that changes with every change of appearance, so that a rendering of one revision can be reused.
    public var revision: Int { ownRevision + bubbleComponents.reduce(0) { $0 + $1.revision + 1 } }

    func touch() { ownRevision += 1000 }

    // MARK: Texts

    /// Whether the bubble has text.
    open var hasAttributedTextMessage: Bool { bubbleComponents.contains { !$0.text.isEmpty } }

    /// The concatenated texts of its events.
    open var attributedTextMessage: NSAttributedString? { attributed(nil) }

    /// The concatenated texts without attributes.
    open var textMessage: String? {
        let texts = bubbleComponents.compactMap(\.textMessage)
        return texts.isEmpty ? nil : texts.joined(separator: "\n")
    }

    /// Whether the text already includes the sender's name, as in an emote.
    open var shouldHideSenderName: Bool { bubbleComponents.first?.isEmote ?? false }

    /// Returns the concatenated texts of its events, with one event highlighted.
    public func attributedTextMessage(withHighlightedEvent eventId: String) -> NSAttributedString? {
        attributed(eventId)
    }

    private func attributed(_ highlighted: String?) -> NSAttributedString? {
        let result = NSMutableAttributedString(string: "")
        for component in bubbleComponents {
            var text = pattern.map { component.text.highlighting($0) } ?? component.text
            guard !text.isEmpty else { continue }
            if component.event.eventId == highlighted { text.color = .bing }
            if result.length > 0 { result.append(NSAttributedString(string: "\n")) }
            result.append(text.attributed)
        }
        return result.length > 0 ? result : nil
    }

    /// Returns the text of one component, with the pattern of ``highlightPattern(inTextMessage:)`` highlighted.
    public func text(of component: MXKRoomBubbleComponent) -> MXKText {
        pattern.map { component.text.highlighting($0) } ?? component.text
    }

    /// Highlights every occurrence of a pattern; pass `nil` to remove the highlight.
    public func highlightPattern(inTextMessage pattern: String?) {
        self.pattern = pattern
        touch()
    }

    /// Discards the texts so that they are recreated on demand.
    public func invalidateTextLayout() {
        for component in bubbleComponents { component.invalidateText() }
    }

    /// The summary of the series that starts with this bubble.
    private var summary: NSAttributedString? {
        guard collapsed, prevCollapsableCellData == nil, let eventFormatter else { return nil }
        var (events, next) = (events, nextCollapsableCellData)
        while let bubble = next {
            events += bubble.events
            next = bubble.nextCollapsableCellData
        }
        return eventFormatter.attributedString(from: events, with: collapseState, error: nil)
    }

    // MARK: Components

    /// Returns the index of an event's component; `NSNotFound` if there is none.
    open func bubbleComponentIndex(forEventId eventId: String) -> Int {
        bubbleComponents.firstIndex { $0.event.eventId == eventId } ?? NSNotFound
    }

    /// Returns the first component that has something to show.
    open func getFirstBubbleComponentWithDisplay() -> MXKRoomBubbleComponent? {
        bubbleComponents.first { !$0.text.isEmpty || attachment != nil }
    }

    /// Updates a changed event.
    open func updateEvent(_ eventId: String, with event: MXEvent) -> UInt {
        guard let index = bubbleComponents.firstIndex(where: { $0.event.eventId == eventId }) else {
            return UInt(bubbleComponents.count)
        }
        if eventFormatter?.isDisplayed(event) == true {
            let component = bubbleComponents[index]
            component.update(with: event, roomState: component.roomState, session: roomDataSource?.mxSession)
            if index == 0 { readAttachment() }
        } else {
            bubbleComponents.remove(at: index)
        }
        touch()
        return UInt(bubbleComponents.count)
    }

    /// Removes an event.
    open func removeEvent(_ eventId: String) -> UInt {
        bubbleComponents.removeAll { $0.event.eventId == eventId }
        touch()
        return UInt(bubbleComponents.count)
    }

    /// Removes an event and those that follow it.
    open func removeEvents(fromEvent eventId: String) -> (left: UInt, removed: [MXEvent]) {
        guard let index = bubbleComponents.firstIndex(where: { $0.event.eventId == eventId }) else {
            return (UInt(bubbleComponents.count), [])
        }
        let removed = bubbleComponents[index...].map(\.event)
        bubbleComponents.removeSubrange(index...)
        touch()
        return (UInt(index), removed)
    }

    /// Returns whether another bubble has the same sender, with the same name and avatar.
    open func hasSameSender(asBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool {
        senderId == bubbleCellData.senderId && senderDisplayName == bubbleCellData.senderDisplayName
            && senderAvatarUrl == bubbleCellData.senderAvatarUrl
    }

    /// Returns whether the next bubble belongs to the same series.
    open func collapse(with cellData: any MXKRoomBubbleCellDataStoring) -> Bool {
        collapsable && cellData.collapsable && !cellData.isPaginationFirstBubble
    }

    /// Adds an event if it belongs to this bubble: after the existing events, or before them if it is older.
    open func addEvent(_ event: MXEvent, andRoomState roomState: MXRoomState?) -> Bool { false }

    /// Merges the events of the next bubble if they belong to this one.
    open func merge(withBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool { false }
}

/// A bubble that collects consecutive messages of one sender. It is the default class for a room's bubbles.
@MainActor
open class MXKRoomBubbleCellDataWithAppendingMode: MXKRoomBubbleCellData {
    /// The maximum number of events in a bubble. The default is 10.
    public var maxComponentCount: UInt = 10
    /// The longest gap between two events of a bubble, in seconds. The default is one hour.
    public var maxSilence: TimeInterval = 3600

    /// Creates a bubble of one event; returns `nil` if there is nothing to show.
    public required init?(
        event: MXEvent, andRoomState roomState: MXRoomState?, andRoomDataSource roomDataSource: MXKRoomDataSource
    ) { super.init(event: event, andRoomState: roomState, andRoomDataSource: roomDataSource) }

    open override func addEvent(_ event: MXEvent, andRoomState roomState: MXRoomState?) -> Bool {
        guard let source = roomDataSource, let formatter = eventFormatter else { return false }
        guard
            let component = MXKRoomBubbleComponent(
                event: event, roomState: roomState, eventFormatter: formatter, session: source.mxSession)
        else { return true }
        guard bubbleComponents.count < Int(maxComponentCount), let first = bubbleComponents.first,
            let last = bubbleComponents.last
        else { return false }
        let isOlder = source.isAdding(event, before: first.event)
        let sameName = formatter.senderDisplayName(for: event, with: roomState) == senderDisplayName
        let sameFace = formatter.senderAvatarUrl(for: event, with: roomState) == senderAvatarUrl
        guard event.sender == senderId, sameName, sameFace,
            isOlder ? belong(component, first) : belong(last, component)
        else { return false }
        bubbleComponents.insert(component, at: isOlder ? 0 : bubbleComponents.count)
        touch()
        return true
    }

    open override func merge(withBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool {
        guard let other = bubbleCellData as? MXKRoomBubbleCellDataWithAppendingMode,
            hasSameSender(asBubbleCellData: other),
            bubbleComponents.count + other.bubbleComponents.count <= Int(maxComponentCount),
            let last = bubbleComponents.last, let first = other.bubbleComponents.first, belong(last, first)
        else { return false }
        bubbleComponents += other.bubbleComponents
        touch()
        return true
    }

    /// The first event that no longer belongs with its predecessor; `nil` if all do.
    var firstMisfit: Int? {
        bubbleComponents.indices.dropFirst().first { !belong(bubbleComponents[$0 - 1], bubbleComponents[$0]) }
    }

    /// Returns whether two neighbouring events belong in one bubble.
    private func belong(_ left: MXKRoomBubbleComponent, _ right: MXKRoomBubbleComponent) -> Bool {
        guard let source = roomDataSource, let formatter = eventFormatter else { return false }
        if left.isMessage != right.isMessage || !left.isMessage { return false }
        if left.isEmote || right.isEmote || left.event.threadId != right.event.threadId { return false }
        if formatter.isSupportedAttachment(left.event) || formatter.isSupportedAttachment(right.event) { return false }
        let silence = Double(right.event.originServerTs) - Double(left.event.originServerTs)
        if abs(silence) > maxSilence * 1000 { return false }
        if source.bubblesPagination == .perDay, !formatter.dates.isSameDay(left.event.date, right.event.date) {
            return false
        }
        return source.readMarkerEventId != left.event.eventId
    }
}

/// A bubble that collects consecutive messages of other users, but holds only one event of the user's own.
@MainActor
open class MXKRoomBubbleCellDataWithIncomingAppendingMode: MXKRoomBubbleCellDataWithAppendingMode {
    /// Creates a bubble of one event; returns `nil` if there is nothing to show.
    public required init?(
        event: MXEvent, andRoomState roomState: MXRoomState?, andRoomDataSource roomDataSource: MXKRoomDataSource
    ) { super.init(event: event, andRoomState: roomState, andRoomDataSource: roomDataSource) }

    open override func addEvent(_ event: MXEvent, andRoomState roomState: MXRoomState?) -> Bool {
        let isShown = eventFormatter?.isDisplayed(event) ?? false
        return isShown && !isIncoming ? false : super.addEvent(event, andRoomState: roomState)
    }

    open override func merge(withBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool {
        isIncoming && super.merge(withBubbleCellData: bubbleCellData)
    }
}
