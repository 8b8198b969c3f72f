public import Foundation
import JSONBytes
import MatrixProtocol
public import MatrixSDK

/// The reason why an event could not be formatted properly.
public enum MXKEventFormatterError: UInt, Error, Sendable {
    /// No error.
    case none
    /// The formatter knows this kind of event but does not show it.
    case unsupported
    /// The event lacks required content.
    case unexpected
    /// The event type is unknown.
    case unknownEventType
}

/// Turns events into text.
///
/// Every text comes from ``language``; dates and times use ``locale`` and ``timeZone``. Subclasses override
/// ``text(from:with:)``, on which the other methods build.
@MainActor
open class MXKEventFormatter {
    /// The session whose user is «you»; `nil` once it is gone.
    public private(set) weak var mxSession: MXSession?
    /// The settings that choose the events to show.
    public var settings: MXKAppSettings
    /// Whether the text is for one line of a list, preceded by the sender. The default is false.
    public var isForSubtitle = false
    /// Whether user ids in texts are links. The default is true.
    public var treatMatrixUserIdAsLink = true
    /// Whether room ids in texts are links. The default is true.
    public var treatMatrixRoomIdAsLink = true
    /// Whether room addresses in texts are links. The default is true.
    public var treatMatrixRoomAliasAsLink = true
    /// Whether event ids in texts are links. The default is true.
    public var treatMatrixEventIdAsLink = true
    /// The only event types to show; `nil` uses those of the settings.
    public var eventTypesFilterForMessages: [String]?
    /// The HTML elements to interpret. Other elements are reduced to their text.
    public var allowedHTMLTags: [String]
    /// The language of the texts. The default is English.
    public var language = MXKLanguage.english
    /// The locale for dates and times. The default is the system's.
    public var locale = Locale.current { didSet { initDateTimeFormatters() } }
    /// The time zone for dates and times. The default is the system's.
    public var timeZone = TimeZone.current { didSet { initDateTimeFormatters() } }

    private(set) var dates = DateTexts()

    /// Creates a formatter with the program's settings.
    public init(matrixSession mxSession: MXSession?) {
        self.mxSession = mxSession
        settings = MXKAppSettings.standard()
        allowedHTMLTags = HTMLReader.usualTags.sorted()
        initDateTimeFormatters()
    }

    /// Recreates the date and time formatters after a change of locale or time zone.
    open func initDateTimeFormatters() { dates = DateTexts(locale: locale, timeZone: timeZone) }

    // MARK: Names

    func isMe(_ userId: String?) -> Bool { userId != nil && userId == mxSession?.credentials?.userId }

    /// Returns the sender's name at the time of the event.
    open func senderDisplayName(for event: MXEvent, with roomState: MXRoomState?) -> String? {
        if event.type == "m.room.member", event.sender == event.stateKey {
            return targetDisplayName(for: event, with: roomState)
        }
        return roomState?.members.memberName(event.sender) ?? event.sender
    }

    /// Returns the name of the member that a member event is about.
    open func targetDisplayName(for event: MXEvent, with roomState: MXRoomState?) -> String? {
        guard event.type == "m.room.member", let target = event.stateKey else { return nil }
        if let known = roomState?.members.member(withUserId: target), known.displayname != nil {
            return roomState?.members.memberName(target)
        }
        return Self.name(event.contentJSON["displayname"]?.string) ?? Self.name(
            event.prevContent?["displayname"]?.string)
            ?? target
    }

    /// Returns the sender's avatar at the time of the event.
    open func senderAvatarUrl(for event: MXEvent, with roomState: MXRoomState?) -> String? {
        if event.type == "m.room.member", event.sender == event.stateKey {
            return targetAvatarUrl(for: event, with: roomState)
        }
        return roomState?.members.member(withUserId: event.sender)?.avatarUrl
    }

    /// Returns the avatar of the member that a member event is about.
    open func targetAvatarUrl(for event: MXEvent, with roomState: MXRoomState?) -> String? {
        guard event.type == "m.room.member", let target = event.stateKey else { return nil }
        return event.contentJSON["avatar_url"]?.string ?? roomState?.members.member(withUserId: target)?.avatarUrl
    }

    static func name(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }

    // MARK: Events

    /// Returns whether the event has a file that ``MXKAttachment`` can show.
    open func isSupportedAttachment(_ event: MXEvent) -> Bool {
        guard !event.isRedacted, event.type == "m.room.message" || event.type == "m.sticker" else { return false }
        switch event.type == "m.sticker" ? "m.image" : event.contentJSON["msgtype"]?.string {
        case "m.image", "m.video", "m.audio", "m.file":
            let url = event.contentJSON["url"]?.string ?? event.contentJSON["file"]?["url"]?.string
            return url.flatMap { MXContentURI($0) } != nil
        case .some, nil: return false
        }
    }

    /// Returns whether events of this type are shown, according to the settings and ``eventTypesFilterForMessages``.
    open func isDisplayed(_ event: MXEvent) -> Bool {
        let types = eventTypesFilterForMessages ?? settings.eventsFilterForMessages
        guard types.contains(event.type) || settings.showUnsupportedEventsInRoomHistory else { return false }
        if event.isEdit || event.isRedacted && !settings.showRedactionsInRoomHistory && !event.isState { return false }
        if event.isEncrypted, settings.hideUndecryptableEvents { return false }
        return true
    }

    /// Returns the text of an event with its structure; `nil` if there is nothing to show.
    ///
    /// - Parameter roomState: The room's state when the event was sent. It provides the names.
    /// - Throws: ``MXKEventFormatterError`` if the event cannot be formatted properly.
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

    /// Returns the plain text of an event; `nil` if there is nothing to show.
    ///
    /// - Parameter error: Set to the error if the event cannot be formatted properly.
    open func string(
        from event: MXEvent, with roomState: MXRoomState?, error: UnsafeMutablePointer<MXKEventFormatterError>?
    ) -> String? { formatted(event, roomState, error)?.plain }

    /// Returns the text of an event with attributes; `nil` if there is nothing to show.
    open func attributedString(
        from event: MXEvent, with roomState: MXRoomState?, error: UnsafeMutablePointer<MXKEventFormatterError>?
    ) -> NSAttributedString? { formatted(event, roomState, error)?.attributed }

    /// Returns one text for several events, such as a collapsed series; `nil` if there is nothing to show.
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

    /// Returns the replacement text for an event that cannot be formatted properly.
    func fallback(_ event: MXEvent) -> MXKText? {
        guard settings.showUnsupportedEventsInRoomHistory else { return nil }
        var text = MXKText(language.text("unsupported", ["type": event.type]))
        text.color = .error
        return text
    }

    // MARK: HTML and Markdown

    /// Returns the HTML of an event as text with attributes.
    open func renderHTMLString(_ htmlString: String, for event: MXEvent, with roomState: MXRoomState?)
        -> NSAttributedString?
    { HTMLReader.text(htmlString, allowed: Set(allowedHTMLTags)).attributed }

    /// Converts Markdown to HTML; returns the text unchanged if it has no markup.
    open func htmlString(fromMarkdownString markdownString: String) -> String {
        Markdown.html(markdownString) ?? markdownString
    }

    // MARK: Dates and times

    /// Returns a short date: the time for today, day and month for this year, and also the year for earlier dates. With
    /// `time`, the time follows.
    open func dateString(from date: Date, withTime time: Bool) -> String? { dates.short(date, withTime: time) }

    /// Returns a short date for milliseconds since 1970.
    open func dateString(fromTimestamp timestamp: UInt64, withTime time: Bool) -> String? {
        dateString(from: Date(timeIntervalSince1970: Double(timestamp) / 1000), withTime: time)
    }

    /// Returns a short date for the time at which the server received the event.
    open func dateString(from event: MXEvent, withTime time: Bool) -> String? {
        dateString(from: event.date, withTime: time)
    }

    /// Returns hours and minutes in 24-hour format.
    open func timeString(from date: Date) -> String { dates.time(date) }

    /// Returns the heading for the messages of a day: `Sat 21 Nov 2026`, or today or yesterday.
    open func dayString(from date: Date) -> String {
        switch dates.daysAgo(date) {
        case 0: language.text("today")
        case 1: language.text("yesterday")
        default: dates.day(date)
        }
    }
}
