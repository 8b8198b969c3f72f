public import Foundation
import MatrixProtocol
public import MatrixSDK

/// One event of a bubble. It is put into words when somebody asks for them.
@MainActor
open class MXKRoomBubbleComponent {
    /// The event as it is now: edited, decrypted, sent.
    public private(set) var event: MXEvent
    /// The first link in the text, if ``MXKAppSettings/enableBubbleComponentLinkDetection`` is on.
    public var link: URL?
    /// The room's state just before the event.
    let roomState: MXRoomState?
    /// Changes with whatever changes how it looks.
    private(set) var revision = 0

    private let eventFormatter: MXKEventFormatter
    private weak var session: MXSession?
    private var formatted: MXKText??

    /// Nil if the formatter shows nothing of such events.
    public init?(event: MXEvent, roomState: MXRoomState?, eventFormatter: MXKEventFormatter, session: MXSession?) {
        guard eventFormatter.isDisplayed(event) else { return nil }
        (self.event, self.roomState, self.eventFormatter, self.session) = (event, roomState, eventFormatter, session)
    }

    /// The text, as renderers use it; empty if there is nothing to show.
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

    /// The text without its structure; nil if there is nothing to show.
    public var textMessage: String? { text.isEmpty ? nil : text.plain }

    /// The text with attributes; nil if there is nothing to show.
    public var attributedTextMessage: NSAttributedString? { text.isEmpty ? nil : text.attributed }

    /// When the server took it.
    public var date: Date? { event.date }

    /// What to show beside it in an encrypted room.
    public var shield: MXMessageShield { session?.crypto?.shield(of: event) ?? .none }

    /// Whether something is to be shown beside it in an encrypted room.
    public var showEncryptionBadge: Bool { shield != .none }

    /// Whether it is what people say, and not what happens to the room.
    var isMessage: Bool { event.isConversation }

    var isEmote: Bool { event.contentJSON["msgtype"]?.string == "m.emote" }

    /// The event has changed.
    open func update(with event: MXEvent, roomState: MXRoomState?, session: MXSession?) {
        self.event = event
        invalidateText()
    }

    /// Puts it into words anew when somebody asks.
    func invalidateText() {
        formatted = nil
        link = nil
        revision += 1
    }
}

extension MXEvent {
    /// Whether it is what people say, and not what happens to the room.
    var isConversation: Bool {
        !isState && type != "m.room.redaction" && !type.hasPrefix("m.call.") && !type.hasPrefix("m.key.verification")
    }
}
