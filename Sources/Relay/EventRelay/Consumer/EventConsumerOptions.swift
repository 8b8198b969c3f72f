public import Foundation
public import Realtime
import RelayProtocol

/// Options for what a consumer reads and how.
public struct EventConsumerOptions: Sendable {
    /// Where to start. An existing group resumes at its position.
    @nonexhaustive
    public enum Start: Hashable, Sendable {
        /// At new events.
        case new
        /// At the oldest event in the stream.
        case beginning
        /// At the event with this number in the stream.
        case sequence(UInt64)
        /// At the first event stored at this time or later.
        case time(Date)
    }

    /// The treatment of a message that cannot be read. It is reported once in either case.
    @nonexhaustive
    public enum Undecodable: Hashable, Sendable {
        /// Store it under a separate subject; see ``EventConsumerOptions/deadLetterPrefix``.
        case deadLetter
        /// Don't deliver it again.
        case terminate
    }

    /// The treatment of an event that an old owner of its channel wrote when there was already a new one.
    @nonexhaustive
    public enum Late: Hashable, Sendable {
        /// Count it: ``EventConsumer/lateEventCount``.
        case drop
        /// Count and deliver it, with ``ConsumedEvent/isLate``.
        case flag
    }

    /// The stream's name.
    public var stream = "EVENTS"
    /// The prefix of the stream's subjects.
    public var prefix = "ev"
    /// A NATS subject with wildcards: `ev.pusher.price.>`. It must start with the prefix, and replaces source, channel
    /// and event name. If nil, those are used.
    public var subject: String?
    /// The source: `pusher`, `matrix` or `pydio`; nil for all.
    public var source: String?
    /// The name of a channel, such as `price` or `matrix:!room:example.org`; nil for all channels.
    public var channel: String?
    /// The name of a group. Workers of the same group share its events: each event goes to one of them, and the servers
    /// store the group's position. If nil, this consumer gets every event, and its position is not stored.
    public var group: String?
    /// Whether to create a missing group. This requires permissions that reading does not.
    public var createsGroup = true
    /// Where a new group, or a consumer without a group, starts.
    public var start = Start.new
    /// The time without an ack after which an event is delivered again.
    public var ackWait = Duration.seconds(30)
    /// The number of events to fetch in advance, at most 256. With fewer, slow workers of a group share events more
    /// evenly. With 0, a sequence fetches the next event only on request, so a worker that hangs keeps only its current
    /// event from the others.
    public var prefetch = 256
    /// The maximum number of unacknowledged events of the group. Beyond it, no worker gets more.
    public var maximumAckPending = 4096
    /// The number of deliveries without an ack after which an event becomes a dead letter; nil for no limit.
    public var maximumDeliveries: Int? = 10
    /// The prefix of dead letters, which are published as `<prefix>.<group>.<subject>`. A stream must accept these
    /// subjects.
    public var deadLetterPrefix = "dead"
    /// The treatment of messages that cannot be read.
    public var undecodable = Undecodable.deadLetter
    /// The treatment of events of an old owner.
    public var late = Late.drop
    /// Where bindings are called.
    public var callbackQueue = EventCallbackQueue.own
    /// The prefix of channel names in a client that the consumer is attached to.
    public var channelPrefix = "relay:"

    /// Creates options to read all new events.
    public init() {}

    /// - Throws: An error that describes the first invalid option.
    package func validate() throws(NATSError) {
        func require(_ isTrue: Bool, _ text: String) throws(NATSError) {
            if !isTrue { throw NATSError(.invalidArgument, text) }
        }
        try require(
            NATSSubject.isName(stream) && !stream.hasPrefix("KV_"),
            "the stream to read cannot be \(stream): it is named with letters, digits, - and _, and is no bucket")
        try require(NATSSubject.isValid(prefix), "a prefix is words with dots between them")
        try require(
            subject.map { NATSSubject.isValid($0, allowsWildcards: true) } ?? true,
            "the subject to read cannot be used: it is words with dots between them, in which * stands for one word, and > at "
                + "the end for all that follow")
        try require(
            subject.map { $0 == ">" || $0.hasPrefix("*.") || $0.hasPrefix(prefix + ".") } ?? true,
            "the subject to read does not begin with the prefix \(prefix)")
        try require(group != "" && channel != "" && source != "", "a group, a channel or a source has no name")
        try require(group?.utf8.contains(0) != true, "a group's name has no zero byte")
        try require(maximumDeliveries ?? 1 >= 1, "an event is delivered once at least")
        try require(ackWait >= .milliseconds(100), "the wait for an ack is 100 ms at least")
    }

    /// Returns the subject for events with a name; nil for the whole stream.
    func filter(event: String?) -> String? {
        if let subject { return subject }
        guard source != nil || channel != nil || event != nil else { return nil }
        let source = source ?? channel.map { Self.source(of: $0) }
        let tokens = [
            source.map { SubjectToken.encode($0) }, channel.map { RelayMessage.token(of: $0, source ?? "") },
            event.map { SubjectToken.encode($0) },
        ]
        return ([prefix] + tokens.map { $0 ?? "*" }).joined(separator: ".")
    }

    /// Returns the source of a channel. Pusher channels have no colon in their names; all others start with their
    /// source.
    private static func source(of channel: String) -> String {
        channel.firstIndex(of: ":").map { String(channel[..<$0]) } ?? "pusher"
    }

    /// Returns a name for each event name that is read, because the filters differ. No group has a zero byte in its own
    /// name.
    func durableName(event: String?) -> String? {
        group.map { group in SubjectToken.encode(event.map { "\(group)\0\($0)" } ?? group) }
    }

    func settings(event: String?) -> ConsumerSettings {
        var settings = ConsumerSettings(durableName: durableName(event: event), filter: filter(event: event))
        settings.createsDurable = createsGroup
        settings.ackWait = ackWait
        settings.maximumAckPending = maximumAckPending
        settings.start =
            switch start {
            case .new: .new
            case .beginning: .beginning
            case .sequence(let sequence): .sequence(max(sequence, 1))
            // The servers have nothing older than this, and refuse times before 1970.
            case .time(let date) where date.timeIntervalSince1970 < 1: .beginning
            case .time(let date): .time(Int64(min(date.timeIntervalSince1970, 9e9) * 1e9))
            }
        return settings
    }
}

extension EventConsumerOptions {
    /// Returns options to read the dead letters of this group instead of its events, starting at the oldest. The
    /// position is not stored.
    ///
    /// Dead letters keep the terms of their events but are stored when the group gives up, so late ones are delivered,
    /// too.
    /// - Parameters:
    ///   - event: The name by which the group reads events, since each name has its own dead letters. Nil if the group
    ///     reads all names together.
    ///   - stream: The stream of the dead letters; see ``RelaySetup/deadLetterStream``.
    /// - Throws: `NATSError` if there is no group, and so no dead letters.
    public func forDeadLetters(event: String? = nil, stream: String = "DEAD") throws(NATSError) -> Self {
        guard let group = durableName(event: event) else {
            throw NATSError(.invalidArgument, "dead letters are those of a group, and there is none")
        }
        var options = self
        (options.group, options.start, options.late) = (nil, .beginning, .flag)
        (options.stream, options.prefix) = (stream, "\(deadLetterPrefix).\(group).\(prefix)")
        if let subject, subject != ">" {
            options.subject = options.prefix + subject.drop { $0 != "." }
        } else if filter(event: event) == nil || subject != nil {
            options.subject = options.prefix + ".>"
        }
        return options
    }
}
