public import Foundation
public import Realtime
import RelayProtocol

/// What a consumer reads, and how.
public struct EventConsumerOptions: Sendable {
    /// Where to begin. A group that exists already goes on where it was.
    @nonexhaustive
    public enum Start: Hashable, Sendable {
        /// With what comes from now on.
        case new
        /// With the oldest event that the stream has.
        case beginning
        /// With the event of this number in the stream.
        case sequence(UInt64)
        /// With the first event that was stored at this time or later.
        case time(Date)
    }

    /// What happens to a message that cannot be read. Either way it is reported once.
    @nonexhaustive
    public enum Undecodable: Hashable, Sendable {
        /// It is kept under a subject of its own; see ``EventConsumerOptions/deadLetterPrefix``.
        case deadLetter
        /// It is not delivered again.
        case terminate
    }

    /// What happens to an event that an old owner of its channel has written when there was a new one already.
    @nonexhaustive
    public enum Late: Hashable, Sendable {
        /// It is counted: ``EventConsumer/lateEventCount``.
        case drop
        /// It is counted and delivered, with ``ConsumedEvent/isLate``.
        case flag
    }

    /// The stream's name.
    public var stream = "EVENTS"
    /// What the subjects of the stream begin with.
    public var prefix = "ev"
    /// A subject of NATS, with its wildcards: `ev.pusher.price.>`. It must lie below the prefix, and takes the place of source,
    /// channel and the event's name. Nil: those decide.
    public var subject: String?
    /// `pusher`, `matrix` or `pydio`; nil for all of them.
    public var source: String?
    /// The name of one channel, such as `price` or `matrix:!room:example.org`; nil for all channels.
    public var channel: String?
    /// Workers of the same group share its events: each goes to one of them, and the servers keep the group's place. Nil: this
    /// consumer gets every event, and nobody keeps its place.
    public var group: String?
    /// Whether the group is made where there is none. It takes permissions that reading does not.
    public var createsGroup = true
    /// Where a new group begins, or a consumer without one.
    public var start = Start.new
    /// After that much time without an ack, an event is delivered again.
    public var ackWait = Duration.seconds(30)
    /// How many events are fetched before they are asked for, 256 at most. With fewer, workers of a group that are slow share more
    /// evenly. With 0, a sequence fetches the next one when it is asked for it: a worker that hangs keeps nothing from the others
    /// but what it works on.
    public var prefetch = 256
    /// How many events of the group may be without an ack; then nobody in it gets more.
    public var maximumAckPending = 4096
    /// After that many deliveries without an ack, an event becomes a dead letter. Nil: it is delivered for ever.
    public var maximumDeliveries: Int? = 10
    /// Dead letters are published as `<prefix>.<group>.<subject>`, which a stream has to take.
    public var deadLetterPrefix = "dead"
    /// What happens to messages that cannot be read.
    public var undecodable = Undecodable.deadLetter
    /// What happens to events of an old owner.
    public var late = Late.drop
    /// Where bindings are called.
    public var callbackQueue = EventCallbackQueue.own
    /// What the names of channels begin with where the consumer is attached to a client.
    public var channelPrefix = "relay:"

    /// All events that come from now on.
    public init() {}

    /// - Throws: What of it cannot work.
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

    /// The subject for events of a name; nil for all that the stream has.
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

    /// Channels of Pusher have no colon in their names; all others begin with their source.
    private static func source(of channel: String) -> String {
        channel.firstIndex(of: ":").map { String(channel[..<$0]) } ?? "pusher"
    }

    /// One for each name of events that is read: they have different filters. No group has the zero byte in its own name.
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
    /// Those that read the dead letters of this group in place of its events, from the oldest on. Nobody keeps the place.
    ///
    /// Dead letters keep the terms of their events, and are stored when the group gives up: late ones are delivered, too.
    /// - Parameters:
    ///   - event: The name by which the group reads events: those of a name have dead letters of their own. Nil: the group reads
    ///     all names together.
    ///   - stream: Where they are; see ``RelaySetup/deadLetterStream``.
    /// - Throws: `NATSError` if there is no group, which has none.
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
