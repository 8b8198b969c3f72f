#if NATSRelay
    import CommandKit
    import EventRelay
    import Foundation

    extension RelayStatus.Relay {
        /// Whether the relay has written recently, as far as the clocks agree.
        var isAlive: Bool { Date().timeIntervalSince(lastHeartbeat) < observerWait / .seconds(1) }

        /// Whether the relay has shut down in order and released its slots.
        var hasLeft: Bool { isLeaving && slots.isEmpty && !isAlive }
    }

    /// A relay and its slots.
    struct RelayStatusRecord: ListRecord {
        private let relay: RelayStatus.Relay?
        private let slots: [RelayStatus.Slot]
        private let differs: Bool
        private let showsSlots: Bool

        /// - Parameter differs: Whether other relays have different channels or accounts.
        init(_ relay: RelayStatus.Relay, differs: Bool, showsSlots: Bool) {
            (self.relay, slots, self.differs, self.showsSlots) = (relay, relay.slots, differs, showsSlots)
        }

        /// Creates a record of the slots without an owner.
        init(free slots: [RelayStatus.Slot]) {
            (relay, self.slots, differs, showsSlots) = (nil, slots, false, false)
        }

        private var state: String {
            guard let relay else { return "nobody" }
            return relay.isLeaving ? "leaving" : relay.isAlive ? "alive" : "dead"
        }

        var json: String {
            var line = JSONLine(type: "relay", time: Date())
            line.add("relay", relay?.id)
            line.add("state", state)
            line.add("last_heartbeat", relay.map { JSONLine.text(of: $0.lastHeartbeat) })
            line.add("losses", relay?.losses)
            line.add("settled", (relay?.settled).map { JSONLine.text(of: $0) })
            line.add("slots", slots.count)
            if differs { line.add("differs", json: "true") }
            if showsSlots {
                let list = slots.map {
                    #"{"slot":\#($0.number),"term":\#($0.term),"since":"\#(JSONLine.text(of: $0.since))"}"#
                }
                line.add("owned", json: "[\(list.joined(separator: ","))]")
            }
            return line.text
        }

        func columns(style: TextStyle) -> [TerminalText] {
            let count: TerminalText = slots.count == 1 ? "1 slot" : "\(slots.count) slots"
            guard let relay else { return [count, "free", "", "", ""] }
            let age = Date().timeIntervalSince(relay.lastHeartbeat)
            let lag = relay.settled.map { settled in
                String(format: "%.1f s", max(relay.lastHeartbeat.timeIntervalSince(settled) - 1, 0))
            }
            var notes: [String] = []
            if relay.losses > 0 { notes.append("lost all \(relay.losses == 1 ? "once" : "\(relay.losses) times")") }
            if differs { notes.append("has other channels or accounts than another relay") }
            if showsSlots { notes.append(slots.map { "\($0.number):\($0.term)" }.joined(separator: " ")) }
            return [
                count, "\(state)", "\(relay.id)",
                "\(String(format: "%.1f s ago", max(age, 0))), lag \(lag ?? "unknown")",
                "\(notes.joined(separator: ", "))",
            ]
        }
    }

    /// The stream and its rate of growth.
    struct RelayStreamRecord: OutputRecord {
        private let stream: RelayStatus.Stream
        private let name: String
        private let rate: UInt64

        init(_ stream: RelayStatus.Stream, name: String, rate: UInt64) {
            (self.stream, self.name, self.rate) = (stream, name, rate)
        }

        var json: String {
            var line = JSONLine(type: "stream", time: Date())
            line.add("stream", name)
            line.add("messages", Int(clamping: stream.messages))
            line.add("bytes", Int(clamping: stream.bytes))
            line.add("max_bytes", Int(clamping: stream.maximumBytes))
            line.add("last_sequence", Int(clamping: stream.lastSequence))
            line.add("rate", Int(clamping: rate))
            line.add("leader", stream.leader)
            return line.text
        }

        func text(style: TextStyle) -> TerminalText {
            let share = Double(stream.bytes) / Double(max(stream.maximumBytes, 1)) * 100
            return """
                stream \(name): \(stream.messages == 1 ? "1 message" : "\(stream.messages) messages"), \(String(format: "%.1f", share)) % of its bytes, \(rate) a second
                """
        }
    }
#endif
