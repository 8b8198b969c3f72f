import RelayProtocol

/// A report of a relay, for people.
@nonexhaustive
public enum RelayReport: Sendable {
    /// The state of the connection to the servers changed.
    case connection(isConnected: Bool)
    /// This relay starts to relay a unit, from `position` if the source has positions.
    case started(unit: String, term: Int, position: String?)
    /// This relay no longer relays the unit.
    case stopped(unit: String)
    /// No heartbeat was acknowledged for `silence`. Everything was given up, and is taken again when the servers
    /// answer.
    case lost(slots: Int, silence: Duration)
    /// A record, or the last fence in the stream, names another owner. The slot was dropped at once.
    case taken(slot: Int, by: String?)
    /// A slot was given back for a relay with fewer, but was not taken. That relay gets no others for a while.
    case notTaken(slot: Int, by: String)
    /// The record of a slot in the bucket cannot be read. No relay takes the slot until someone deletes the record.
    case recordUnreadable(slot: Int)
    /// The servers have lost the record of a slot that this relay owns. It is written again, unless the stream shows
    /// another owner; then ``taken(slot:by:)`` follows.
    case recordForgotten(slot: Int)
    /// The last fence of a slot has the highest possible term. No relay takes the slot until someone purges the fence.
    case termsExhausted(slot: Int)
    /// A relay with the same bucket has other units. A unit that only one of them has is not taken over when that relay
    /// is gone.
    case otherUnits(relay: String)
    /// A source failed, or a unit could not be started.
    case sourceFailed(unit: String, message: String, willRetry: Bool)
    /// An event that can never be stored in the stream.
    case eventLost(unit: String, channel: String?, reason: String)
    /// Sources are not read because the stream accepts nothing, or accepts it too slowly; or they are read again.
    case held(Bool, isStreamFull: Bool)
    /// At the end, the servers did not accept the release of this many slots. Other relays will notice by themselves.
    case leftBehind(slots: Int)
    /// The stream does not accept published events, which wait and are sent again. Reported at once, and then every
    /// minute.
    case notStored(stream: String, NATSError)
    /// A call to NATS failed; includes the consequences.
    case natsFailed(NATSError)
}

extension RelayReport: CustomStringConvertible {
    /// A sentence that describes the report.
    public var description: String {
        switch self {
        case .connection(true): "connected to NATS"
        case .connection(false): "the connection to NATS is lost; trying again"
        case .started(let unit, let term, let position):
            "relaying \(unit), term \(term)" + (position == nil ? "" : ", resuming at the stored position")
        case .stopped(let unit): "no longer relaying \(unit)"
        case .lost(let slots, let silence):
            slots == 1
                ? "no heartbeat was acknowledged for \(silence.seconds) s: 1 slot is given up, and taken again once NATS answers; gaps tell what channels lose"
                : "no heartbeat was acknowledged for \(silence.seconds) s: \(slots) slots are given up, and taken again once NATS answers; gaps tell what channels lose"
        case .taken(let slot, let owner):
            "slot \(slot) belongs to \(owner ?? "nobody") now: nothing more of it is sent from here"
        case .notTaken(let slot, let relay):
            "slot \(slot) was given back for \(relay), which did not take it: it gets no others from here for a while"
        case .recordUnreadable(let slot):
            "the record of slot \(slot) in the bucket cannot be read: no relay takes the slot until the record is deleted"
        case .recordForgotten(let slot):
            "the servers have lost the record of slot \(slot), which this relay owns: it is written again unless another relay has taken the slot"
        case .termsExhausted(let slot):
            "the last fence of slot \(slot) has the highest term that there is: no relay takes the slot until the fence is purged"
        case .otherUnits(let relay):
            "\(relay) uses the same bucket with other channels or accounts: all relays of a bucket must have the same ones"
        case .sourceFailed(let unit, let message, let willRetry):
            "\(unit): \(message)" + (willRetry ? "; it is tried again" : "")
        case .eventLost(let unit, let channel, let reason):
            "an event of \(channel ?? unit) is not in the stream, and never will be: \(reason)"
        case .held(true, let isFull):
            isFull
                ? "the stream is full: sources are not read until there is room"
                : "the stream takes events too slowly: sources are not read until it has caught up"
        case .held(false, _): "sources are read again"
        case .leftBehind(let slots):
            slots == 0
                ? "the servers did not answer in time at the end"
                : "the servers did not confirm in time that \(slots == 1 ? "1 slot is" : "\(slots) slots are") released; another relay takes over in about 20 s"
        case .notStored(let stream, let error):
            switch error.kind {
            case .streamFull:
                "stream \(stream) is full: events wait here until there is room; purge it, or raise its max_bytes"
            case .noResponders, .notFound:
                "nobody serves stream \(stream): it has no leader at the moment, or is gone; events wait here until it is back; "
                    + "if it is gone, set it up again"
            case .invalidArgument, .notConnected, .unreachable, .authentication, .permission, .tls, .unsupportedServer,
                .timeout, .wrongLastSequence, .quotaExceeded, .tooLarge, .unavailable, .differentSettings, .other:
                "stream \(stream) does not take events, which wait here while their slots are kept: \(error)"
            }
        case .natsFailed(let error): "\(error)"
        }
    }
}

extension Duration {
    fileprivate var seconds: String { "\(Int(self / .seconds(1)))" }
}
