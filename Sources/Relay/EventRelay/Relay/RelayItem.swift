import Realtime
import RelayProtocol

/// An event or a gap of a unit, on its way from its source to the stream.
struct RelayItem: Sendable {
    enum Content: Sendable {
        case event(RealtimeEvent, id: String?)
        case gap(RelayGap)
    }

    let unit: String
    /// See ``UnitRun``.
    let run: Int
    let content: Content
    /// The time at which it arrived, in milliseconds since 1970.
    let time: Int64
    /// Whether another relay may have written it, too.
    var mayBeRepeated = false

    /// The event's ID, if it has one.
    var id: String? {
        switch content {
        case .event(_, let id): id
        case .gap: nil
        }
    }

    var byteCount: Int {
        switch content {
        case .event(let event, _): event.byteCount + 512
        case .gap: 1024
        }
    }

    /// The time up to which everything before it has arrived.
    var limit: Int64 {
        switch content {
        case .event: time
        // Until the gap is stored, the time inside it is not reported as complete.
        case .gap(let gap): gap.start
        }
    }

    /// Returns the source of a unit, such as `pusher`.
    static func source(of unit: String) -> String {
        String(Substring(unit.utf8.prefix { $0 != UInt8(ascii: ":") }))
    }

    /// - Parameter number: The number within the unit and term.
    func outgoing(number: Int, term: Int, _ imprint: RelayImprint) -> OutgoingMessage {
        let author = RelayMessage.Author(unit: unit, term: term, sequence: number)
        let source = Self.source(of: unit)
        let (message, messageID): (RelayMessage, String)
        switch content {
        case .event(let event, let id):
            message = RelayMessage(
                .event(event), source: source, author: author, time: time, id: id, mayBeRepeated: mayBeRepeated)
            messageID =
                id.map { MessageID.make([source, $0]) }
                ?? MessageID.make([unit, imprint.relay, "\(term)", "\(number)"])
        case .gap(let gap):
            message = RelayMessage(.gap(gap), source: source, author: author, time: gap.end)
            messageID = MessageID.make(["gap", unit, imprint.relay, "\(term)", "\(number)"])
        }
        return message.outgoing(prefix: imprint.prefix, messageID: messageID, stream: imprint.stream)
    }
}

/// The values common to all messages of a relay.
final class RelayImprint: Sendable {
    let relay: String
    let prefix: String
    let stream: String

    init(_ relay: RelayID, _ options: EventRelayOptions) {
        (self.relay, prefix, stream) = ("\(relay)", options.prefix, options.stream)
    }
}
