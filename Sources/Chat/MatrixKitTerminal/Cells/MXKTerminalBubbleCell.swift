import Foundation
import MatrixKit
import MatrixProtocol
import MatrixSDK
public import TerminalUI

/// The user tapped the text of a message. ``kMXKRoomBubbleCellEventIdKey`` holds the event.
public let kMXKRoomBubbleCellTapOnMessageTextView = "kMXKRoomBubbleCellTapOnMessageTextView"
/// The user tapped the sender's name.
public let kMXKRoomBubbleCellTapOnSenderNameLabel = "kMXKRoomBubbleCellTapOnSenderNameLabel"
/// The user tapped a file.
public let kMXKRoomBubbleCellTapOnAttachmentView = "kMXKRoomBubbleCellTapOnAttachmentView"
/// The user tapped a message that was not sent.
public let kMXKRoomBubbleCellUnsentButtonPressed = "kMXKRoomBubbleCellUnsentButtonPressed"
/// The user selected a message.
public let kMXKRoomBubbleCellLongPressOnEvent = "kMXKRoomBubbleCellLongPressOnEvent"
/// The user is about to follow the link under ``kMXKRoomBubbleCellUrl``.
public let kMXKRoomBubbleCellShouldInteractWithURL = "kMXKRoomBubbleCellShouldInteractWithURL"
/// The key of the user that an action concerns.
public let kMXKRoomBubbleCellUserIdKey = "kMXKRoomBubbleCellUserIdKey"
/// The key of the event id that an action concerns.
public let kMXKRoomBubbleCellEventIdKey = "kMXKRoomBubbleCellEventIdKey"
/// The key of the link that an action concerns.
public let kMXKRoomBubbleCellUrl = "kMXKRoomBubbleCellUrl"

/// A message bubble: times on the left, then the texts, and their state on the right.
@MainActor
open class MXKTerminalBubbleCell: MXKTerminalBaseCell {
    /// The action of each line in the last layout.
    private var actions: [String?] = []
    /// The source of images; `nil` shows none.
    var thumbnails: ThumbnailStore?

    /// The width below which times are left out.
    private static let narrow = 50
    private static let timeWidth = 6

    open override func action(atLine line: Int, column: Int) -> String? {
        actions.indices.contains(line) ? actions[line] : nil
    }

    open override func lines(_ layout: MXKCellLayout) -> [TerminalLine] {
        actions = []
        guard let bubble = renderedCellData() as? MXKRoomBubbleCellData, layout.columns > 0 else { return [] }
        if bubble.collapsed {
            guard bubble.prevCollapsableCellData == nil else { return [] }
            let text = bubble.collapsedAttributedTextMessage?.string ?? ""
            let line = "▸ " + ScreenText.cleanedName(text)
            return withDate(bubble, layout, centred(line, layout, anchor: bubble.events.first?.eventId))
        }
        var lines: [TerminalLine] = []
        if showsName(bubble) {
            lines.append(name(bubble, layout))
            actions.append(kMXKRoomBubbleCellTapOnSenderNameLabel)
        }
        for component in bubble.bubbleComponents { lines += self.lines(component, bubble, layout) }
        return withDate(bubble, layout, lines)
    }

    private func showsName(_ bubble: MXKRoomBubbleCellData) -> Bool {
        guard let first = bubble.bubbleComponents.first, !first.event.isState else { return false }
        return !bubble.shouldHideSenderInformation && !bubble.shouldHideSenderName && !isRoomText(first.event)
    }

    private func isRoomText(_ event: MXEvent) -> Bool {
        event.isState || event.type.hasPrefix("m.call.") || event.type == "m.room.redaction"
            || event.type.hasPrefix("m.key.verification")
    }

    private func margin(_ layout: MXKCellLayout) -> Int { layout.columns < Self.narrow ? 0 : Self.timeWidth }

    private func name(_ bubble: MXKRoomBubbleCellData, _ layout: MXKCellLayout) -> TerminalLine {
        let name = ScreenText.cleanedName(bubble.senderDisplayName ?? bubble.senderId)
        let style = bubble.isIncoming ? layout.theme.name(of: bubble.senderId) : layout.theme.style(.own)
        let text =
            StyledText(String(repeating: " ", count: margin(layout))) + StyledText(name.isEmpty ? "?" : name, style)
        return TerminalLine(text, layout.profile, anchor: bubble.events.first?.eventId).truncated(to: layout.columns)
    }

    // MARK: One event

    private func lines(
        _ component: MXKRoomBubbleComponent, _ bubble: MXKRoomBubbleCellData, _ layout: MXKCellLayout
    ) -> [TerminalLine] {
        let event = component.event
        if isRoomText(event) {
            let text = ScreenText.cleanedName(component.textMessage ?? "")
            return text.isEmpty ? [] : centred(text, layout, anchor: event.eventId)
        }
        let renderer = TextRenderer(
            theme: layout.theme, profile: layout.profile, revealsSpoilers: layout.revealsSpoilers,
            namesEmoji: layout.namesEmoji)
        let right = rightEdge(component, bubble, layout)
        let rightWidth = right.isEmpty ? 0 : right.width(layout.profile) + 1
        let margin = margin(layout)
        let textColumns = max(layout.columns - margin - rightWidth, min(layout.columns, 10))
        var body: [TerminalLine] = []
        if let reply = replyLine(event, bubble, layout, columns: textColumns) { body.append(reply) }
        if let attachment = bubble.attachment {
            body += attachmentLines(attachment, component, layout, renderer, columns: textColumns)
        } else {
            body += renderer.lines(bubble.text(of: component), columns: textColumns, anchor: event.eventId)
        }
        guard !body.isEmpty else { return [] }
        let time = bubble.roomDataSource.map { _ in bubble.eventFormatter?.timeString(from: event.date) ?? "" } ?? ""
        var lines = body.enumerated().map { index, line in
            var whole = TerminalLine(anchor: event.eventId)
            if margin > 0 {
                whole.append(StyledText(index == 0 ? time : "", layout.theme.style(.time)), layout.profile)
            }
            whole.pad(to: margin)
            whole.append(line)
            return whole
        }
        if !right.isEmpty, margin + textColumns + rightWidth <= layout.columns {
            var first = lines[0]
            first.pad(to: layout.columns - rightWidth + 1)
            first.append(right, layout.profile)
            lines[0] = first.fitted(to: layout.columns)
        }
        let action =
            bubble.attachment != nil
            ? kMXKRoomBubbleCellTapOnAttachmentView
            : event.sentState == .failed
                ? kMXKRoomBubbleCellUnsentButtonPressed : kMXKRoomBubbleCellTapOnMessageTextView
        actions += lines.map { _ in action }
        if let reactions = reactionLine(event, bubble, layout, margin: margin) {
            lines.append(reactions)
            actions.append(kMXKRoomBubbleCellTapOnMessageTextView)
        }
        if let thread = bubble.threads[event.eventId] {
            lines.append(threadLine(thread, event, bubble, layout, margin: margin))
            actions.append(kMXKRoomBubbleCellTapOnMessageTextView)
        }
        return lines
    }

    private func threadLine(
        _ thread: MXThreadSummary, _ event: MXEvent, _ bubble: MXKRoomBubbleCellData, _ layout: MXKCellLayout,
        margin: Int
    ) -> TerminalLine {
        var text = StyledText(String(repeating: " ", count: margin))
        text.append(thread.count == 1 ? "↳ 1 reply" : "↳ \(thread.count) replies", layout.theme.style(.link))
        if let latest = thread.latest, let source = bubble.roomDataSource, let formatter = bubble.eventFormatter {
            let name = formatter.senderDisplayName(for: latest, with: source.roomState) ?? latest.sender
            let words = ((try? formatter.text(from: latest, with: source.roomState)) ?? nil)?.plain ?? ""
            text.append("  \(ScreenText.cleanedName(name)): ", layout.theme.style(.hint))
            text.append(ScreenText.cleanedName(String(words.prefix(200))), layout.theme.style(.hint))
        }
        return TerminalLine(text, layout.profile, anchor: event.eventId).truncated(to: layout.columns)
    }

    private func replyLine(
        _ event: MXEvent, _ bubble: MXKRoomBubbleCellData, _ layout: MXKCellLayout, columns: Int
    ) -> TerminalLine? {
        guard let original = event.replyToEventId, let source = bubble.roomDataSource,
            let formatter = bubble.eventFormatter
        else { return nil }
        var text = StyledText("▎ ", layout.theme.style(.quote))
        if let replied = source.event(withEventId: original) {
            let name = formatter.senderDisplayName(for: replied, with: source.roomState) ?? replied.sender
            text.append(ScreenText.cleanedName(name) + ": ", layout.theme.style(.quote))
            let words = (try? formatter.text(from: replied, with: source.roomState)) ?? nil
            let renderer = TextRenderer(theme: layout.theme, profile: layout.profile)
            var quoted = words ?? MXKText("…")
            quoted.color = .quote
            text += renderer.line(quoted)
        } else {
            text.append("…", layout.theme.style(.quote))
        }
        return TerminalLine(text, layout.profile, anchor: event.eventId).truncated(to: columns)
    }

    private func attachmentLines(
        _ attachment: MXKAttachment, _ component: MXKRoomBubbleComponent, _ layout: MXKCellLayout,
        _ renderer: TextRenderer, columns: Int
    ) -> [TerminalLine] {
        let sign =
            switch attachment.type {
            case .image, .sticker: "[image]"
            case .video: "[video]"
            case .audio: "[audio]"
            case .voiceMessage: "[voice]"
            case .location: "[place]"
            case .file, .undefined: "[file]"
            }
        var text = StyledText(sign + " ", layout.theme.style(.link))
        if attachment.contentURL != nil { text.append(ScreenText.cleanedName(attachment.fileName)) }
        if let claims = attachment.claimedSizes { text.append("  said to be \(claims)", layout.theme.style(.subtitle)) }
        var lines = [TerminalLine(text, layout.profile, anchor: component.event.eventId).truncated(to: columns)]
        lines += pictureLines(attachment, component, layout, columns: columns)
        if attachment.caption != nil {
            lines += renderer.lines(component.text, columns: columns, anchor: component.event.eventId)
        }
        return lines
    }

    private func pictureLines(
        _ attachment: MXKAttachment, _ component: MXKRoomBubbleComponent, _ layout: MXKCellLayout, columns: Int
    ) -> [TerminalLine] {
        guard layout.showsImages, layout.theme != .plain, [.image, .sticker].contains(attachment.type),
            let picture = thumbnails?.picture(of: attachment)
        else { return [] }
        let maximum = ThumbnailStore.maximumSize
        let size = picture.image.cells(
            within: TerminalSize(columns: min(columns, maximum.columns), rows: maximum.rows))
        return picture.image.lines(size, id: picture.id, anchor: component.event.eventId)
    }

    /// Returns the delivery state of a message, its warnings and its receipts.
    private func rightEdge(
        _ component: MXKRoomBubbleComponent, _ bubble: MXKRoomBubbleCellData, _ layout: MXKCellLayout
    ) -> StyledText {
        var text = StyledText()
        switch component.shield {
        case .none: break
        case .unverifiedIdentity, .authenticityNotGuaranteed: text.append("⚠", layout.theme.style(.hint))
        case .unsignedDevice, .identityChanged, .unknownDevice, .sentInClear:
            text.append("⚠", layout.theme.style(.error))
        @unknown default: break
        }
        func add(_ words: String, _ style: TerminalStyle) {
            if !text.isEmpty { text.append(" ") }
            text.append(words, style)
        }
        switch component.event.sentState {
        case .sent: break
        case .failed: add("! failed", layout.theme.style(.error))
        case .uploading where bubble.uploadProgress >= 0:
            add("\(Int(min(bubble.uploadProgress, 1) * 100)) %", layout.theme.style(.sending))
        case .preparing, .encrypting, .uploading, .sending: add("…", layout.theme.style(.sending))
        }
        if layout.showsReceipts, bubble.showBubbleReceipts,
            let count = bubble.readReceipts[component.event.eventId]?.count, count > 0
        {
            add("✓ \(count)", layout.theme.style(.subtitle))
        }
        return text
    }

    private func reactionLine(
        _ event: MXEvent, _ bubble: MXKRoomBubbleCellData, _ layout: MXKCellLayout, margin: Int
    ) -> TerminalLine? {
        guard bubble.roomDataSource?.showReactions != false, let reactions = bubble.reactions[event.eventId]?.reactions
        else {
            return nil
        }
        var text = StyledText(String(repeating: " ", count: margin))
        for reaction in reactions.values.sorted(by: {
            ($0.originServerTs, $0.reaction) < ($1.originServerTs, $1.reaction)
        }) {
            let cleaned = ScreenText.cleanedName(reaction.reaction)
            let key = String((layout.namesEmoji ? EmojiNames.inWords(cleaned) : cleaned).prefix(20))
            var style = layout.theme.style(.reaction)
            if reaction.containsCurrentUser { style.flags.insert(.bold) }
            text.append(" \(key) \(reaction.count) ", style)
            text.append(" ")
        }
        return TerminalLine(text, layout.profile, anchor: event.eventId).truncated(to: layout.columns)
    }

    // MARK: Around events

    private func centred(_ text: String, _ layout: MXKCellLayout, anchor: String?) -> [TerminalLine] {
        let lines = TextLayout(columns: layout.columns, layout.profile).lines(
            StyledText(text, layout.theme.style(.subtitle)), anchor: anchor)
        actions += lines.map { _ in kMXKRoomBubbleCellTapOnMessageTextView }
        return lines.map { line in
            let left = (layout.columns - line.columns) / 2
            return TerminalLine(Array(repeating: .blank, count: left) + line.cells, anchor: anchor)
        }
    }

    /// Adds the day heading above the first bubble of a day, and the line for new messages below the last one read.
    private func withDate(
        _ bubble: MXKRoomBubbleCellData, _ layout: MXKCellLayout, _ lines: [TerminalLine]
    ) -> [TerminalLine] {
        var lines = lines
        if bubble.isPaginationFirstBubble, !lines.isEmpty, let date = bubble.date, let formatter = bubble.eventFormatter
        {
            lines.insert(Self.rule(formatter.dayString(from: date), layout, .date, atEnd: false), at: 0)
            actions.insert(nil, at: 0)
        }
        if let source = bubble.roomDataSource, source.showReadMarker, let marker = source.readMarkerEventId,
            bubble.events.last?.eventId == marker, source.hasNewer(than: bubble)
        {
            lines.append(Self.rule("new", layout, .readMarker, atEnd: true))
            actions.append(nil)
        }
        return lines
    }

    private static func rule(
        _ words: String, _ layout: MXKCellLayout, _ part: MXKTheme.Part, atEnd: Bool
    ) -> TerminalLine {
        let style = layout.theme.style(part)
        let words = " \(words) "
        let rest = max(layout.columns - layout.profile.width(of: words) - 2, 0)
        let (left, right) = atEnd ? (rest, 2) : (2, rest)
        let text = String(repeating: "─", count: left) + words + String(repeating: "─", count: right)
        return TerminalLine(StyledText(text, style), layout.profile).fitted(to: layout.columns)
    }
}
