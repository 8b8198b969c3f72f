public import Foundation
public import MatrixProtocol
import MatrixSDK

/// A bubble with one event. ``MXKRoomBubbleCellDataWithAppendingMode``, which is the usual one, takes more.
@MainActor
open class MXKRoomBubbleCellData: MXKCellData, MXKRoomBubbleCellDataStoring {
    /// The data source that it belongs to.
    public weak var roomDataSource: MXKRoomDataSource?
    /// Its events, oldest first.
    public internal(set) var bubbleComponents: [MXKRoomBubbleComponent] = []
    /// Who has read up to its events, by event.
    public var readReceipts: [String: [MXReceipt]] = [:]
    /// What others say about its events, by event.
    public var reactions: [String: MXEventAggregations] = [:]
    /// The threads that its events began, by event.
    public var threads: [String: MXThreadSummary] = [:]
    /// What is known of the file while it is being sent; nil for most.
    public var uploadId: String?
    /// From 0 to 1; below 0 if nothing is being sent.
    public var uploadProgress: CGFloat = -1 { didSet { if uploadProgress != oldValue { touch() } } }

    /// Who sent it.
    public let senderId: String
    /// The room.
    public let roomId: String
    /// The sender's name when it was sent.
    public let senderDisplayName: String?
    /// The sender's picture when it was sent.
    public let senderAvatarUrl: String?
    /// The file of its event.
    public private(set) var attachment: MXKAttachment?
    /// Whether it is the first of its day.
    public var isPaginationFirstBubble = false
    /// Whether the bubble before says who it is from.
    public var shouldHideSenderInformation = false
    /// Whether the sender is typing.
    public var isTyping = false
    /// Whether the time is shown.
    public var showBubbleDateTime = false
    /// Whether receipts are shown.
    public var showBubbleReceipts = true
    /// For the application.
    public var tag = 0
    /// Whether it can be one of a series that is shown as one line.
    public var collapsable = false
    /// Whether it is shown as one line with its series.
    public var collapsed = false
    /// What that line says; the first of a series has it.
    open var collapsedAttributedTextMessage: NSAttributedString? {
        get { collapsedText ?? summary }
        set { collapsedText = newValue }
    }
    /// The one before it in its series.
    public var prevCollapsableCellData: (any MXKRoomBubbleCellDataStoring)? {
        get { previous.map { $0 } }
        set { previous = newValue }
    }
    /// The one after it in its series.
    public var nextCollapsableCellData: (any MXKRoomBubbleCellDataStoring)? {
        get { next.map { $0 } }
        set { next = newValue }
    }
    /// The room's state before the series.
    public var collapseState: MXRoomState?

    // Weak both ways: a long series would be released one within the other.
    private weak var previous: (any MXKRoomBubbleCellDataStoring)?
    private weak var next: (any MXKRoomBubbleCellDataStoring)?
    private var collapsedText: NSAttributedString?
    private var pattern: String?
    /// Changes with whatever changes how it looks, beside its components.
    private var ownRevision = 0

    /// A bubble of one event; nil if there is nothing to show.
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

    // MARK: What it is

    /// Whom the first event is about, if it is about a member.
    open var targetId: String? {
        guard let event = bubbleComponents.first?.event, event.type == "m.room.member" else { return nil }
        return event.stateKey
    }

    /// The name of whom it is about.
    open var targetDisplayName: String? {
        bubbleComponents.first.flatMap { eventFormatter?.targetDisplayName(for: $0.event, with: $0.roomState) }
    }

    /// The picture of whom it is about.
    open var targetAvatarUrl: String? {
        bubbleComponents.first.flatMap { eventFormatter?.targetAvatarUrl(for: $0.event, with: $0.roomState) }
    }

    /// Whether the room is encrypted.
    open var isEncryptedRoom: Bool { roomDataSource?.room?.summary.isEncrypted ?? false }

    /// Whether there is nothing to see in it.
    open var hasNoDisplay: Bool { bubbleComponents.isEmpty }

    /// Its events, oldest first.
    public var events: [MXEvent] { bubbleComponents.map(\.event) }

    /// Of its first event.
    open var date: Date? { bubbleComponents.first?.date }

    /// Whether it is from somebody else.
    open var isIncoming: Bool { senderId != roomDataSource?.mxSession?.credentials?.userId }

    /// Whether its file is shown as a picture.
    open var isAttachmentWithThumbnail: Bool {
        switch attachment?.type {
        case .image?, .video?, .sticker?: true
        case .undefined?, .audio?, .voiceMessage?, .location?, .file?, nil: false
        }
    }

    /// Whether its file is shown as a sign.
    open var isAttachmentWithIcon: Bool {
        switch attachment?.type {
        case .audio?, .voiceMessage?, .location?, .file?: true
        case .undefined?, .image?, .video?, .sticker?, nil: false
        }
    }

    /// Whether there is a link in its texts.
    open var hasLink: Bool { bubbleComponents.contains { !$0.text.links.isEmpty } }

    /// What puts its events into words.
    public var eventFormatter: MXKEventFormatter? { roomDataSource?.formatter }

    /// Whether one of its events is not what the room promises, or is not believed.
    open var containsBubbleComponentWithEncryptionBadge: Bool {
        bubbleComponents.contains(where: \.showEncryptionBadge)
    }

    /// Changes with whatever changes how it looks: what was made of it for one revision holds for that.
    public var revision: Int { ownRevision + bubbleComponents.reduce(0) { $0 + $1.revision + 1 } }

    func touch() { ownRevision += 1000 }

    // MARK: Texts

    /// Whether there is text in it.
    open var hasAttributedTextMessage: Bool { bubbleComponents.contains { !$0.text.isEmpty } }

    /// The texts of its events, one after the other.
    open var attributedTextMessage: NSAttributedString? { attributed(nil) }

    /// The same without attributes.
    open var textMessage: String? {
        let texts = bubbleComponents.compactMap(\.textMessage)
        return texts.isEmpty ? nil : texts.joined(separator: "\n")
    }

    /// Whether the name stands in the text: it is an emote.
    open var shouldHideSenderName: Bool { bubbleComponents.first?.isEmote ?? false }

    /// The texts of its events, one after the other.
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

    /// The text of one of its events, with the pattern of ``highlightPattern(inTextMessage:)`` marked.
    public func text(of component: MXKRoomBubbleComponent) -> MXKText {
        pattern.map { component.text.highlighting($0) } ?? component.text
    }

    /// Marks a pattern wherever it stands; nil marks nothing.
    public func highlightPattern(inTextMessage pattern: String?) {
        self.pattern = pattern
        touch()
    }

    /// Its texts are made anew when somebody asks for them.
    public func invalidateTextLayout() {
        for component in bubbleComponents { component.invalidateText() }
    }

    /// What happened in the series that begins here.
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

    /// Which of its components an event is; `NSNotFound` if it is none.
    open func bubbleComponentIndex(forEventId eventId: String) -> Int {
        bubbleComponents.firstIndex { $0.event.eventId == eventId } ?? NSNotFound
    }

    /// The first of its components with something to see.
    open func getFirstBubbleComponentWithDisplay() -> MXKRoomBubbleComponent? {
        bubbleComponents.first { !$0.text.isEmpty || attachment != nil }
    }

    /// One of its events has changed.
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

    /// Takes an event out.
    open func removeEvent(_ eventId: String) -> UInt {
        bubbleComponents.removeAll { $0.event.eventId == eventId }
        touch()
        return UInt(bubbleComponents.count)
    }

    /// Takes out an event and those that follow it.
    open func removeEvents(fromEvent eventId: String) -> (left: UInt, removed: [MXEvent]) {
        guard let index = bubbleComponents.firstIndex(where: { $0.event.eventId == eventId }) else {
            return (UInt(bubbleComponents.count), [])
        }
        let removed = bubbleComponents[index...].map(\.event)
        bubbleComponents.removeSubrange(index...)
        touch()
        return (UInt(index), removed)
    }

    /// Whether the other bubble is from the same sender, under the same name and picture.
    open func hasSameSender(asBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool {
        senderId == bubbleCellData.senderId && senderDisplayName == bubbleCellData.senderDisplayName
            && senderAvatarUrl == bubbleCellData.senderAvatarUrl
    }

    /// Whether the other bubble, which follows, belongs to the same series.
    open func collapse(with cellData: any MXKRoomBubbleCellDataStoring) -> Bool {
        collapsable && cellData.collapsable && !cellData.isPaginationFirstBubble
    }

    /// Takes an event in, if it belongs to this bubble: after its events, or before them if it is older.
    open func addEvent(_ event: MXEvent, andRoomState roomState: MXRoomState?) -> Bool { false }

    /// Takes the events of the next bubble in, if they belong to this one.
    open func merge(withBubbleCellData bubbleCellData: any MXKRoomBubbleCellDataStoring) -> Bool { false }
}

/// A bubble that takes in what the same sender says in a row. The usual class of a room's bubbles.
@MainActor
open class MXKRoomBubbleCellDataWithAppendingMode: MXKRoomBubbleCellData {
    /// More events begin a new bubble. Usually 10.
    public var maxComponentCount: UInt = 10
    /// In seconds: a longer silence begins a new bubble. Usually an hour.
    public var maxSilence: TimeInterval = 3600

    /// A bubble of one event; nil if there is nothing to show.
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

    /// The first of its events that does not belong to the one before it any more; nil if all do.
    var firstMisfit: Int? {
        bubbleComponents.indices.dropFirst().first { !belong(bubbleComponents[$0 - 1], bubbleComponents[$0]) }
    }

    /// Whether two neighbours are of one bubble.
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

/// A bubble that takes in what others say in a row, and one event of ourselves.
@MainActor
open class MXKRoomBubbleCellDataWithIncomingAppendingMode: MXKRoomBubbleCellDataWithAppendingMode {
    /// A bubble of one event; nil if there is nothing to show.
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
