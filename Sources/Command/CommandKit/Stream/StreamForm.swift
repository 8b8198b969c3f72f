import Basics
package import Foundation
import JSONBytes
import PusherSwift

/// The output form of a stream's records.
package enum StreamForm: Sendable {
    /// Columns for a terminal.
    case columns(TextStyle)
    /// One JSON object per line.
    case json
    /// Only the data of events.
    case raw(RecordSeparator)
    case template(StreamTemplate, RecordSeparator)
    /// A process for each event.
    case command(EventProcesses)
    /// A full-screen view.
    case screen(WatchInbox)

    /// Whether to replace ids with names.
    package var isForPeople: Bool {
        switch self {
        case .columns, .screen: true
        case .json, .raw, .template, .command: false
        }
    }

    /// Outputs a record. If the form covers only events, other records go to standard error.
    ///
    /// - Parameter answer: Receives the outcome, for a command when it has ended.
    /// - Returns: Whether it was written; see ``StandardOutput``.
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

    /// Starts no more commands.
    package func stop() {
        switch self {
        case .columns, .json, .raw, .template, .screen: break
        case .command(let processes): processes.stop()
        }
    }

    /// Ends the running commands.
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

    /// Waits until everything that was started has ended, after ``stop()``.
    ///
    /// - Returns: The exit status of the command.
    package func finish() async -> ExitStatus {
        switch self {
        case .columns, .json, .raw, .template, .screen: .done
        case .command(let processes): await processes.finish()
        }
    }
}

/// The separator of records, which must not occur within one.
package struct RecordSeparator: Sendable {
    private let byte: UInt8
    /// Whether to escape control characters, so that no text can forge a record or control a terminal.
    private let isEscaping: Bool
    private let isTerminal: Bool

    /// - Parameter isNul: Whether records end with NUL instead of a line end. Their content is then written unchanged,
    ///   except to a terminal.
    package init(isNul: Bool, isTerminal: Bool = StandardOutput.isTerminal) {
        byte = isNul ? 0 : UInt8(ascii: "\n")
        isEscaping = !isNul || isTerminal
        self.isTerminal = isTerminal
    }

    /// Returns an untrusted text changed so that it cannot end a record. Escaped JSON remains JSON.
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

/// The fields of an event for templates and commands.
package struct EventFields: Sendable {
    package var type = "event"
    package let channel: String?
    package let name: String?
    package let data: String?
    package let userID: String?
}

extension EventFields {
    /// A description for messages.
    package var words: TerminalText { "event “\(name ?? "")” of channel \(channel ?? "-")" }

    fileprivate init(_ event: PusherEvent) {
        self.init(channel: event.channelName, name: event.eventName, data: event.data, userID: event.userId)
    }
}

extension Record {
    /// The event's fields; `nil` for other records.
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

    /// Returns any record in the form of an event: its data is the output of `--json`.
    package func asEvent(at time: Date) -> EventFields {
        let json = json(at: time)
        let object = JSONView(Array(json.utf8))
        return EventFields(
            type: object?["type"]?.string ?? "", channel: object?["channel"]?.string, name: object?["event"]?.string,
            data: json, userID: object?["user_id"]?.string)
    }
}
