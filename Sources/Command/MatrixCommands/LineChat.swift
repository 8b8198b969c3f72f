import CommandKit
import Foundation
import MatrixKit
import MatrixKitTerminal
import MatrixProtocol
import MatrixSDK

/// A chat in one room as plain lines: each message is printed on a line, and each entered line is sent.
@MainActor
final class LineChat: MXKDataSourceDelegate {
    private let chat: MatrixChat
    private var source: MXKRoomDataSource?
    /// The last output for each event.
    private var printed: [String: Printed] = [:]

    private struct Printed {
        var text: String
        var isReadable: Bool
    }

    /// The number of earlier messages printed first.
    private static let history: UInt = 10

    init(_ chat: MatrixChat) { self.chat = chat }

    func run(_ wanted: RoomReference?) async throws {
        defer {
            source?.destroy()
            chat.close()
        }
        guard let wanted else {
            throw CommandFailure(.wrongUse, "without drawing, chat needs the room: pusher-cli matrix chat --plain ROOM")
        }
        // The stored rooms are enough to start.
        if chat.session.rooms.isEmpty { try await chat.session.start() }
        chat.start()
        let room = try await wanted.room(in: chat.session, for: chat.account)
        let source = MXKRoomDataSource(roomId: room.roomId, andMatrixSession: chat.session)
        self.source = source
        await source.whenPrepared()
        StatusLine.endWait()
        _ = try? await source.paginate(Self.history, direction: .backwards)
        source.delegate = self
        printNew()
        let lines = LineSource(readAhead: 10, maximumLength: 64 << 10)
        _ = try await SignalWatch.interrupting { [weak self] in
            // The chat ends with the input. At a terminal, a signal comes first.
            try await withTaskCancellationHandler {
                while let line = try await lines.next(atMost: 1).first { await self?.send(line) }
            } onCancel: {
                lines.stop()
            }
        }
        lines.stop()
    }

    private func send(_ input: InputLine) async {
        guard let source else { return }
        do {
            let line = try input.text.get()
            guard line.contains(where: { !$0.isWhitespace }) else { return }
            let command = MXKCommand(line)
            if command?.name == "me", let problem = command?.problem() { throw CommandFailure(.wrongUse, problem) }
            if let command, command.name != "me" {
                throw CommandFailure(
                    .wrongUse,
                    "commands need the screen: /\(command.name) was not sent; //\(command.name) sends it as text")
            }
            try await source.sendTextMessage(line.hasPrefix("//") ? String(line.dropFirst()) : line)
        } catch {
            StandardError.complain(error)
        }
    }

    // MARK: New messages

    func cellViewClass(for cellData: MXKCellData) -> (any MXKCellRendering.Type)? { nil }

    func cellReuseIdentifier(for cellData: MXKCellData) -> String? { nil }

    func dataSource(_ dataSource: MXKDataSource, didCellChange changes: Any?) { printNew() }

    /// Prints new and changed messages. Own messages are printed when the homeserver has received them.
    private func printNew() {
        guard let source else { return }
        let bubbles = (0..<source.numberOfCells).compactMap { source.cellData(at: $0) as? MXKRoomBubbleCellData }
        let parts = bubbles.flatMap { bubble in bubble.bubbleComponents.map { (bubble, $0) } }
            .filter { !$0.1.event.isLocalEvent && $0.1.textMessage != nil }
        if !printed.isEmpty, !parts.isEmpty, !parts.contains(where: { printed[$0.1.event.eventId] != nil }) {
            guard StandardOutput.write("      (there may be messages before these that are not shown)") else { return }
        }
        for (bubble, component) in parts {
            guard say(component, of: bubble, source.eventFormatterInUse) else { return }
        }
    }

    /// - Returns: Whether standard output accepts more.
    private func say(
        _ component: MXKRoomBubbleComponent, of bubble: MXKRoomBubbleCellData, _ formatter: MXKEventFormatter
    ) -> Bool {
        let event = component.event
        let now = Printed(text: component.textMessage ?? "", isReadable: event.decryptionError == nil)
        let before = printed.updateValue(now, forKey: event.eventId)
        guard before?.text != now.text else { return true }
        var change = ""
        if let before { change = now.isReadable && !before.isReadable ? "(now readable) " : "(changed) " }
        let who = event.isState ? "" : "\(bubble.senderDisplayName ?? bubble.senderId): "
        let head = "\(formatter.timeString(from: event.date)) \(change)\(who)"
        let lines = now.text.split(separator: "\n", omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() {
            guard StandardOutput.write(TerminalText(number == 0 ? head + line : "      \(line)")) else { return false }
        }
        return true
    }
}
