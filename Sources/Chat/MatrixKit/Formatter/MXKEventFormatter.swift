public import Foundation
import JSONBytes
import MatrixProtocol
public import MatrixSDK

/// What is wrong with an event that a formatter could not show as it should be.
public enum MXKEventFormatterError: UInt, Error, Sendable {
    /// Nothing.
    case none
    /// The formatter knows the event, and does not show such ones.
    case unsupported
    /// It lacks what it should have.
    case unexpected
    /// Nobody here knows such events.
    case unknownEventType
}

/// Puts events into words.
///
/// Every text goes through ``language``; dates and times through ``locale`` and ``timeZone``. Subclasses override
/// ``text(from:with:)``, of which the other forms are made.
@MainActor
open class MXKEventFormatter {
    /// The session whose user is «you»; nil once that is gone.
    public private(set) weak var mxSession: MXSession?
    /// What is shown at all.
    public var settings: MXKAppSettings
    /// Whether the text goes into one line of a list, with the sender before it. Usually false.
    public var isForSubtitle = false
    /// Whether ids of users in texts are links. Usually true.
    public var treatMatrixUserIdAsLink = true
    /// Whether ids of rooms in texts are links. Usually true.
    public var treatMatrixRoomIdAsLink = true
    /// Whether addresses of rooms in texts are links. Usually true.
    public var treatMatrixRoomAliasAsLink = true
    /// Whether ids of events in texts are links. Usually true.
    public var treatMatrixEventIdAsLink = true
    /// Types of events beyond which nothing is shown; nil is those of the settings.
    public var eventTypesFilterForMessages: [String]?
    /// Elements of HTML that are read; others leave their text.
    public var allowedHTMLTags: [String]
    /// The words. Usually English.
    public var language = MXKLanguage.english
    /// For dates and times. Usually the system's.
    public var locale = Locale.current { didSet { initDateTimeFormatters() } }
    /// For dates and times. Usually the system's.
    public var timeZone = TimeZone.current { didSet { initDateTimeFormatters() } }

    private(set) var dates = DateTexts()

    /// A formatter with the program's settings.
    public init(matrixSession mxSession: MXSession?) {
        self.mxSession = mxSession
        settings = MXKAppSettings.standard()
        allowedHTMLTags = HTMLReader.usualTags.sorted()
        initDateTimeFormatters()
    }

    /// Makes what dates and times are formatted with, after the locale or the time zone has changed.
    open func initDateTimeFormatters() { dates = DateTexts(locale: locale, timeZone: timeZone) }

    // MARK: Names

    func isMe(_ userId: String?) -> Bool { userId != nil && userId == mxSession?.credentials?.userId }

    /// The sender's name when the event was sent.
    open func senderDisplayName(for event: MXEvent, with roomState: MXRoomState?) -> String? {
        if event.type == "m.room.member", event.sender == event.stateKey {
            return targetDisplayName(for: event, with: roomState)
        }
        return roomState?.members.memberName(event.sender) ?? event.sender
    }

    /// The name of whom a member event is about.
    open func targetDisplayName(for event: MXEvent, with roomState: MXRoomState?) -> String? {
        guard event.type == "m.room.member", let target = event.stateKey else { return nil }
        if let known = roomState?.members.member(withUserId: target), known.displayname != nil {
            return roomState?.members.memberName(target)
        }
        return Self.name(event.contentJSON["displayname"]?.string) ?? Self.name(
            event.prevContent?["displayname"]?.string)
            ?? target
    }

    /// The sender's picture when the event was sent.
    open func senderAvatarUrl(for event: MXEvent, with roomState: MXRoomState?) -> String? {
        if event.type == "m.room.member", event.sender == event.stateKey {
            return targetAvatarUrl(for: event, with: roomState)
        }
        return roomState?.members.member(withUserId: event.sender)?.avatarUrl
    }

    /// The picture of whom a member event is about.
    open func targetAvatarUrl(for event: MXEvent, with roomState: MXRoomState?) -> String? {
        guard event.type == "m.room.member", let target = event.stateKey else { return nil }
        return event.contentJSON["avatar_url"]?.string ?? roomState?.members.member(withUserId: target)?.avatarUrl
    }

    static func name(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }

    // MARK: Events

    /// Whether it has a file that ``MXKAttachment`` can show.
    open func isSupportedAttachment(_ event: MXEvent) -> Bool {
        guard !event.isRedacted, event.type == "m.room.message" || event.type == "m.sticker" else { return false }
        switch event.type == "m.sticker" ? "m.image" : event.contentJSON["msgtype"]?.string {
        case "m.image", "m.video", "m.audio", "m.file":
            let url = event.contentJSON["url"]?.string ?? event.contentJSON["file"]?["url"]?.string
            return url.flatMap { MXContentURI($0) } != nil
        case .some, nil: return false
        }
    }

    /// Whether an event of this type is shown, by the settings and ``eventTypesFilterForMessages``.
    open func isDisplayed(_ event: MXEvent) -> Bool {
        let types = eventTypesFilterForMessages ?? settings.eventsFilterForMessages
        guard types.contains(event.type) || settings.showUnsupportedEventsInRoomHistory else { return false }
        if event.isEdit || event.isRedacted && !settings.showRedactionsInRoomHistory && !event.isState { return false }
        if event.isEncrypted, settings.hideUndecryptableEvents { return false }
        return true
    }

    /// The event in words, with its structure; nil if there is nothing to show.
    ///
    /// - Parameter roomState: When it was sent: names come from there.
    /// - Throws: ``MXKEventFormatterError`` if it cannot be shown as it should be.
    open func text(from event: MXEvent, with roomState: MXRoomState?) throws -> MXKText? {
        guard var text = try words(event, with: roomState) else { return nil }
        switch event.sentState {
        case .failed: text.color = .error
        case .sending: text.color = .sending
        case .encrypting, .uploading, .preparing: text.color = .encrypting
        case .sent: if text.color == .default, event.isState { text.color = .subtitle }
        }
        return text
    }

    /// The event as text; nil if there is nothing to show.
    ///
    /// - Parameter error: Set to what is wrong with the event.
    open func string(
        from event: MXEvent, with roomState: MXRoomState?, error: UnsafeMutablePointer<MXKEventFormatterError>?
    ) -> String? { formatted(event, roomState, error)?.plain }

    /// The event as text with attributes; nil if there is nothing to show.
    open func attributedString(
        from event: MXEvent, with roomState: MXRoomState?, error: UnsafeMutablePointer<MXKEventFormatterError>?
    ) -> NSAttributedString? { formatted(event, roomState, error)?.attributed }

    /// Many events in one text, such as those of a collapsed series; nil if there is nothing to show.
    open func attributedString(
        from events: [MXEvent], with roomState: MXRoomState?, error: UnsafeMutablePointer<MXKEventFormatterError>?
    ) -> NSAttributedString? {
        error?.pointee = .none
        return summary(of: events).map { MXKText($0).attributed }
    }

    private func formatted(
        _ event: MXEvent, _ roomState: MXRoomState?, _ error: UnsafeMutablePointer<MXKEventFormatterError>?
    ) -> MXKText? {
        error?.pointee = .none
        do {
            return try text(from: event, with: roomState)
        } catch let failure as MXKEventFormatterError {
            error?.pointee = failure
            return fallback(event)
        } catch {
            return nil
        }
    }

    /// What stands for an event that cannot be shown as it should be.
    func fallback(_ event: MXEvent) -> MXKText? {
        guard settings.showUnsupportedEventsInRoomHistory else { return nil }
        var text = MXKText(language.text("unsupported", ["type": event.type]))
        text.color = .error
        return text
    }

    // MARK: HTML and Markdown

    /// HTML of an event as text with attributes.
    open func renderHTMLString(_ htmlString: String, for event: MXEvent, with roomState: MXRoomState?)
        -> NSAttributedString?
    { HTMLReader.text(htmlString, allowed: Set(allowedHTMLTags)).attributed }

    /// Markdown as HTML; the text itself if there is no markup in it.
    open func htmlString(fromMarkdownString markdownString: String) -> String {
        Markdown.html(markdownString) ?? markdownString
    }

    // MARK: Dates and times

    /// A day: a time for today, day and month for this year, and the year too before that. With `time`, the time follows.
    open func dateString(from date: Date, withTime time: Bool) -> String? { dates.short(date, withTime: time) }

    /// The same for milliseconds since 1970.
    open func dateString(fromTimestamp timestamp: UInt64, withTime time: Bool) -> String? {
        dateString(from: Date(timeIntervalSince1970: Double(timestamp) / 1000), withTime: time)
    }

    /// The same for when the server took the event.
    open func dateString(from event: MXEvent, withTime time: Bool) -> String? {
        dateString(from: event.date, withTime: time)
    }

    /// Hours and minutes, of 24 hours.
    open func timeString(from date: Date) -> String { dates.time(date) }

    /// The day above its messages: `Sat 21 Nov 2026`, or today and yesterday.
    open func dayString(from date: Date) -> String {
        switch dates.daysAgo(date) {
        case 0: language.text("today")
        case 1: language.text("yesterday")
        default: dates.day(date)
        }
    }
}
