import Basics
package import Foundation
import JSONBytes
import PusherSwift

/// What a stream makes of its records.
package enum StreamForm: Sendable {
    /// Columns for people.
    case columns(TextStyle)
    /// One JSON object a line.
    case json
    /// The data of events alone.
    case raw(RecordSeparator)
    case template(StreamTemplate, RecordSeparator)
    /// A process for each event.
    case command(EventProcesses)
    /// On the whole screen.
    case screen(WatchInbox)

    /// Whether names are wanted where there are ids.
    package var isForPeople: Bool {
        switch self {
        case .columns, .screen: true
        case .json, .raw, .template, .command: false
        }
    }

    /// Does with a record what the form is about. Where that is about events alone, other records go to standard error.
    ///
    /// - Parameter answer: Told what becomes of it, of a command when that has ended.
    /// - Returns: Whether it was taken; see ``StandardOutput``.
    package func write(_ record: Record, answer: EventAnswer? = nil) -> Bool {
        let time = record.time ?? Date()
        if case .command(let processes) = self, let event = record.event {
            processes.run(for: event, at: time, answer: answer)
            return true
        }
        let isTaken = write(record, at: time)
        _ = answer?(isTaken ? .handled : .notBegun)
        return isTaken
    }

    private func write(_ record: Record, at time: Date) -> Bool {
        switch self {
        case .columns(let style): return StandardOutput.write(record.text(at: time, style: style))
        case .json: return StandardOutput.write(json: record.json(at: time))
        case .raw(let separator):
            guard let event = record.event else { return tellApart(record, at: time) }
            return separator.write(separator.fit(event.data ?? ""))
        case .template(let template, let separator):
            guard let event = record.event ?? (template.takesEveryType ? record.asEvent(at: time) : nil) else {
                return tellApart(record, at: time)
            }
            return separator.write(template.text(of: event, at: time, escape: separator.fit))
        case .command: return tellApart(record, at: time)
        case .screen(let inbox): return inbox.add(record, at: time)
        }
    }

    private func tellApart(_ record: Record, at time: Date) -> Bool {
        if case .error(let error) = record {
            StandardError.write("error: \(error)")
        } else {
            StandardError.write(record.text(at: time, style: TextStyle(isColored: false)))
        }
        return true
    }

    /// Begins nothing more.
    package func stop() {
        switch self {
        case .columns, .json, .raw, .template, .screen: break
        case .command(let processes): processes.stop()
        }
    }

    /// Ends what was begun.
    package func end() {
        switch self {
        case .columns, .json, .raw, .template, .screen: break
        case .command(let processes): processes.end()
        }
    }

    /// Whether ``finish()`` may take long.
    package var isSlowToFinish: Bool {
        switch self {
        case .columns, .json, .raw, .template, .screen: false
        case .command: true
        }
    }

    /// Returns when everything that was begun has ended, after ``stop()``.
    ///
    /// - Returns: How a command ends with what has become of it.
    package func finish() async -> ExitStatus {
        switch self {
        case .columns, .json, .raw, .template, .screen: .done
        case .command(let processes): await processes.finish()
        }
    }
}

/// What ends a record, and what therefore must not be in it.
package struct RecordSeparator: Sendable {
    private let byte: UInt8
    /// Whether control characters are escaped, so that nothing forges a record or drives a terminal.
    private let isEscaping: Bool
    private let isTerminal: Bool

    /// - Parameter isNul: Whether records end with a NUL instead of a line end: then what is between is let through as it is,
    ///   except to a terminal.
    package init(isNul: Bool, isTerminal: Bool = StandardOutput.isTerminal) {
        byte = isNul ? 0 : UInt8(ascii: "\n")
        isEscaping = !isNul || isTerminal
        self.isTerminal = isTerminal
    }

    /// A text that somebody else wrote, so that it cannot end a record. Escaped JSON stays JSON.
    package func fit(_ text: String) -> String {
        guard isEscaping else {
            return text.utf8.contains(0) ? text.replacing("\0", with: PeerText("\0").escaped) : text
        }
        let escaped = isTerminal ? PeerText(text).escaped : PeerText(text).escapedForPipes
        guard escaped.utf8.count != text.utf8.count, JSONView.isJSON(text) else { return escaped }
        return PeerText.escapedJSON(text)
    }

    package func write(_ text: String) -> Bool { StandardOutput.write(Array(text.utf8) + [byte]) }
}

/// What templates and commands are told of an event.
package struct EventFields: Sendable {
    package var type = "event"
    package let channel: String?
    package let name: String?
    package let data: String?
    package let userID: String?
}

extension EventFields {
    /// For people.
    package var words: TerminalText { "event “\(name ?? "")” of channel \(channel ?? "-")" }

    fileprivate init(_ event: PusherEvent) {
        self.init(channel: event.channelName, name: event.eventName, data: event.data, userID: event.userId)
    }
}

extension Record {
    /// Nil if it is no event.
    package var event: EventFields? {
        switch self {
        case .event(let event): EventFields(event)
        case .consumed(let record): record.gap == nil ? EventFields(record.event) : nil
        case .matrixEvent(let event):
            EventFields(channel: event.channel, name: event.name, data: event.data, userID: event.userID)
        case .pydioEvent(let event):
            EventFields(channel: event.channel, name: event.name, data: event.data, userID: nil)
        case .state, .subscribed, .gap, .signedIn, .watchlist, .memberAdded, .memberRemoved, .error, .matrixState,
            .pydioState:
            nil
        }
    }

    /// A record that is no event as if it were one: its data is what `--json` prints.
    package func asEvent(at time: Date) -> EventFields {
        let json = json(at: time)
        let object = JSONView(Array(json.utf8))
        return EventFields(
            type: object?["type"]?.string ?? "", channel: object?["channel"]?.string, name: object?["event"]?.string,
            data: json, userID: object?["user_id"]?.string)
    }
}
