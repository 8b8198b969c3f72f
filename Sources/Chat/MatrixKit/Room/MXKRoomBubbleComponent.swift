public import Foundation
import MatrixProtocol
public import MatrixSDK

/// One event of a bubble. Its text is created on demand.
@MainActor
open class MXKRoomBubbleComponent {
    /// The current event: edited, decrypted or sent.
    public private(set) var event: MXEvent
    /// The first link in the text, if ``MXKAppSettings/enableBubbleComponentLinkDetection`` is on.
    public var link: URL?
    /// The room's state just before the event.
    let roomState: MXRoomState?
    /// A number that changes with every change of appearance.
    private(set) var revision = 0

    private let eventFormatter: MXKEventFormatter
    private weak var session: MXSession?
    private var formatted: MXKText??

    /// Returns `nil` if the formatter does not show this kind of event.
    public init?(event: MXEvent, roomState: MXRoomState?, eventFormatter: MXKEventFormatter, session: MXSession?) {
        guard eventFormatter.isDisplayed(event) else { return nil }
        (self.event, self.roomState, self.eventFormatter, self.session) = (event, roomState, eventFormatter, session)
    }

    /// The text in the form that renderers use; empty if there is nothing to show.
    public var text: MXKText {
        if let formatted { return formatted ?? MXKText() }
        let text: MXKText?
        do {
            text = try eventFormatter.text(from: event, with: roomState)
        } catch {
            text = eventFormatter.fallback(event)
        }
        formatted = .some(text)
        if eventFormatter.settings.enableBubbleComponentLinkDetection { link = text?.links.first }
        return text ?? MXKText()
    }

    /// The plain text; `nil` if there is nothing to show.
    public var textMessage: String? { text.isEmpty ? nil : text.plain }

    /// The text with attributes; `nil` if there is nothing to show.
    public var attributedTextMessage: NSAttributedString? { text.isEmpty ? nil : text.attributed }

    /// The time at which the server received the event.
    public var date: Date? { event.date }

    /// The shield to show beside the event in an encrypted room.
    public var shield: MXMessageShield { session?.crypto?.shield(of: event) ?? .none }

    /// Whether to show an encryption badge beside the event.
    public var showEncryptionBadge: Bool { shield != .none }

    /// Whether this is a message and not a room event.
    var isMessage: Bool { event.isConversation }

    var isEmote: Bool { event.contentJSON["msgtype"]?.string == "m.emote" }

    /// Updates the event after a change.
    open func update(with event: MXEvent, roomState: MXRoomState?, session: MXSession?) {
        self.event = event
        invalidateText()
    }

    /// Discards the text so that it is recreated on demand.
    func invalidateText() {
        formatted = nil
        link = nil
        revision += 1
    }
}

extension MXEvent {
    /// Whether this is a message and not a room event.
    var isConversation: Bool {
        !isState && type != "m.room.redaction" && !type.hasPrefix("m.call.") && !type.hasPrefix("m.key.verification")
    }
}
