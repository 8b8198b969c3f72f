import Basics
import CNATS

/// The settings of a JetStream consumer. Its start and its filter cannot be changed later.
package struct ConsumerSettings: Hashable, Sendable {
    package enum Start: Hashable, Sendable {
        /// At new messages.
        case new
        /// At the oldest message in the stream.
        case beginning
        case sequence(UInt64)
        /// After the position that a reader has reached. If the stream ends before it, all messages are new, and a
        /// durable consumer starts at the beginning.
        case after(UInt64)
        /// At a time in nanoseconds since 1970.
        case time(Int64)
        /// At the last message of each subject.
        case lastOfEachSubject
    }

    /// The durable name; nil for a private consumer without acks, which ends with its reader.
    package var durableName: String?
    /// Whether to create a missing durable consumer.
    package var createsDurable = true
    /// The subject filter; nil for all subjects.
    package var filter: String?
    package var start = Start.new
    /// The time after which a message without an ack is delivered again.
    package var ackWait = Duration.seconds(30)
    /// The maximum number of unacknowledged messages of all readers together. Beyond it, no reader gets more.
    package var maximumAckPending = 4096

    package init(durableName: String? = nil, filter: String? = nil, start: Start = .new) {
        (self.durableName, self.filter, self.start) = (durableName, filter, start)
    }

    /// Calls `body` with the settings in libnats's form.
    ///
    /// - Parameter name: The name of a consumer that is not durable.
    func withRaw<Result>(name: String, _ body: (inout jsConsumerConfig) -> Result) -> Result {
        var raw = jsConsumerConfig()
        jsConsumerConfig_Init(&raw)
        raw.DeliverPolicy = js_DeliverAll
        switch start {
        case .new: raw.DeliverPolicy = js_DeliverNew
        case .beginning: raw.DeliverPolicy = js_DeliverAll
        case .sequence(let sequence):
            (raw.DeliverPolicy, raw.OptStartSeq) = (js_DeliverByStartSequence, sequence)
        case .after(let sequence):
            (raw.DeliverPolicy, raw.OptStartSeq) = (js_DeliverByStartSequence, sequence + 1)
        case .time(let time): (raw.DeliverPolicy, raw.OptStartTime) = (js_DeliverByStartTime, time)
        case .lastOfEachSubject: raw.DeliverPolicy = js_DeliverLastPerSubject
        }
        return withOptional(filter) { filter in
            withOptional(durableName) { durable in
                name.withCString { name in
                    raw.FilterSubject = filter
                    if durable != nil {
                        raw.Durable = durable
                        raw.AckPolicy = js_AckExplicit
                        raw.AckWait = ackWait.wholeNanoseconds
                        raw.MaxDeliver = -1
                        raw.MaxAckPending = Int64(maximumAckPending)
                    } else {
                        raw.Name = name
                        raw.AckPolicy = js_AckNone
                        raw.InactiveThreshold = Duration.seconds(30).wholeNanoseconds
                        (raw.Replicas, raw.MemoryStorage) = (1, true)
                    }
                    return body(&raw)
                }
            }
        }
    }
}

struct FoundConsumer: Sendable {
    let name: String
    /// The number of messages that it has not delivered yet.
    let pending: Int
    /// The stream position up to which it has delivered everything, or was not asked to.
    let position: UInt64
    /// The stream position up to which everything was acknowledged; nil before the first ack, when the servers don't
    /// report it.
    let acknowledged: UInt64?
    /// The creation time in nanoseconds since 1970.
    let created: Int64
    /// The time after which a message without an ack is delivered again.
    let ackWait: Duration
    /// Whether it was just created.
    var isNew = false
}

extension NATSConnection {
    /// Finds the durable consumer, or creates one. Blocks.
    ///
    /// - Parameter name: The name of a consumer that is not durable.
    static func findOrMakeConsumer(
        _ settings: ConsumerSettings, name: String, stream: String, _ link: NATSLink
    ) throws(NATSError) -> FoundConsumer {
        try validate(stream)
        if let filter = settings.filter, !NATSSubject.isValid(filter, allowsWildcards: true) {
            throw NATSError(.invalidArgument, "a subject to read cannot be used")
        }
        if let durable = settings.durableName {
            try validate(durable)
            if let found = try find(durable, settings, stream, link) { return found }
        }
        var settings = settings
        if settings.durableName != nil, case .after(let place) = settings.start, let last = lastPlace(of: stream, link),
            last < place
        {
            settings.start = .beginning
        }
        return try make(settings, name: name, stream: stream, link)
    }

    /// Returns the number of the last message, which a consumer that starts with new messages needs; nil without
    /// permission to query it.
    private static func lastPlace(of stream: String, _ link: NATSLink) -> UInt64? {
        let name = "probe-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        guard let probe = try? make(ConsumerSettings(), name: name, stream: stream, link) else { return nil }
        var code = jsErrCode(0)
        _ = withJSOptions(wait: .seconds(2)) { js_DeleteConsumer(link.jetStream, stream, name, $0, &code) }
        return probe.position
    }

    private static func make(
        _ settings: ConsumerSettings, name: String, stream: String, _ link: NATSLink
    ) throws(NATSError) -> FoundConsumer {
        let task = "the creation of consumer \(settings.durableName ?? name) of stream \(stream)"
        var (info, code) = (UnsafeMutablePointer<jsConsumerInfo>?.none, jsErrCode(0))
        let status = withJSOptions(wait: .seconds(5)) { options in
            settings.withRaw(name: name) { js_AddConsumer(&info, link.jetStream, stream, &$0, options, &code) }
        }
        defer { jsConsumerInfo_Destroy(info) }
        guard code.rawValue != 10059 else { throw .noStream(stream) }
        guard status == NATS_OK, let info else { throw NATSError(status, Int(code.rawValue), during: task) }
        var made = FoundConsumer(info.pointee)
        made.isNew = true
        return made
    }

    /// Returns the stream position up to which everything was acknowledged; nil before the first ack. Blocks.
    static func acknowledgedPlace(
        _ durable: String, stream: String, _ link: NATSLink
    ) throws(NATSError) -> UInt64? {
        var (info, code) = (UnsafeMutablePointer<jsConsumerInfo>?.none, jsErrCode(0))
        let status = withJSOptions(wait: .seconds(2)) {
            js_GetConsumerInfo(&info, link.jetStream, stream, durable, $0, &code)
        }
        defer { jsConsumerInfo_Destroy(info) }
        guard status == NATS_OK, let info else {
            throw NATSError(status, Int(code.rawValue), during: "the question for consumer \(durable)")
        }
        return FoundConsumer(info.pointee).acknowledged
    }

    private static func find(
        _ name: String, _ settings: ConsumerSettings, _ stream: String, _ link: NATSLink
    ) throws(NATSError) -> FoundConsumer? {
        let task = "the question for consumer \(name) of stream \(stream)"
        var (info, code) = (UnsafeMutablePointer<jsConsumerInfo>?.none, jsErrCode(0))
        let status = withJSOptions(wait: .seconds(5)) {
            js_GetConsumerInfo(&info, link.jetStream, stream, name, $0, &code)
        }
        defer { jsConsumerInfo_Destroy(info) }
        if code.rawValue == 10014, settings.createsDurable { return nil }
        guard code.rawValue != 10059 else { throw .noStream(stream) }
        guard status == NATS_OK, let info, let config = info.pointee.Config?.pointee else {
            throw NATSError(status, Int(code.rawValue), during: task)
        }
        let filter = config.FilterSubject.map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        guard filter == settings.filter, config.DeliverSubject == nil, config.AckPolicy == js_AckExplicit else {
            throw NATSError(
                .differentSettings,
                "consumer \(name) of stream \(stream) exists, and reads \(filter ?? "everything") or is no pull consumer"
                    + " with acks: choose another group, or delete it")
        }
        return FoundConsumer(info.pointee)
    }
}

extension FoundConsumer {
    fileprivate init(_ info: jsConsumerInfo) {
        let acknowledged: UInt64? =
            if info.NumAckPending == 0 {
                info.Delivered.Stream
            } else {
                info.AckFloor.Consumer > 0 ? info.AckFloor.Stream : nil
            }
        self.init(
            name: info.Name.map { String(cString: $0) } ?? "", pending: Int(clamping: info.NumPending),
            position: info.Delivered.Stream, acknowledged: acknowledged, created: info.Created,
            ackWait: .nanoseconds(info.Config?.pointee.AckWait ?? 0))
    }
}
