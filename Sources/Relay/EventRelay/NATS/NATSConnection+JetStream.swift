import Basics
import CNATS
package import RelayProtocol

package struct StoredMessage: Hashable, Sendable {
    /// The sequence number, of the first copy for a duplicate.
    package let sequence: UInt64
    /// Whether the stream already had a message with this ID.
    package let isDuplicate: Bool
}

package struct StreamMessage: Sendable {
    package let sequence: UInt64
    package let payload: [UInt8]
    package let subject: String
    private let message: IncomingMessage

    init(_ raw: OpaquePointer, subject: String, headers: [String]) {
        message = IncomingMessage(raw, headers: headers)
        (sequence, payload, self.subject) = (natsMsg_GetSequence(raw), message.payload, subject)
    }

    /// Returns the value of one of the requested headers.
    package func header(_ name: String) -> String? { message.header(name) }
}

extension NATSConnection {
    /// Publishes one message and waits until it is stored.
    ///
    /// As the only write of a record, this is safe only with a message ID: servers before 2.9.21 let two writes over
    /// the same sequence win at once.
    ///
    /// - Parameters:
    ///   - expected: The sequence of the last message of this subject; zero if there must be none.
    ///   - wait: The time limit for the answer. After a timeout, the message may or may not be stored.
    package func publish(
        _ message: OutgoingMessage, expectedLastSubjectSequence expected: UInt64? = nil, wait: Duration = .seconds(2)
    ) async throws(NATSError) -> StoredMessage {
        try await call(message.task, subject: message.subject, limit: wait + .seconds(1)) { link throws(NATSError) in
            try Self.publish(message, expected, wait, link)
        }
    }

    /// Publishes a message and reports the result to a callback.
    func publish(
        _ message: OutgoingMessage, expectedLastSubjectSequence expected: UInt64? = nil, wait: Duration = .seconds(2),
        on queue: BlockingCalls? = nil,
        then: @escaping @Sendable (Result<StoredMessage, NATSError>) -> Void
    ) {
        call(
            message.task, subject: message.subject, limit: wait + .seconds(1), on: queue,
            { link throws(NATSError) in try Self.publish(message, expected, wait, link) }, then: then)
    }

    private static func publish(
        _ message: OutgoingMessage, _ expected: UInt64?, _ wait: Duration, _ link: NATSLink
    ) throws(NATSError) -> StoredMessage {
        try message.withRaw { raw throws(NATSError) in
            guard message.payload.count <= link.maximumPayload else {
                throw NATSError(
                    .tooLarge, "\(message.task) failed: the server takes \(link.maximumPayload) bytes at most")
            }
            var (ack, code) = (UnsafeMutablePointer<jsPubAck>?.none, jsErrCode(0))
            let status = message.withPublishOptions(wait: wait) { options in
                // An expected sequence of zero sends no condition at all.
                options.ExpectNoMessage = expected == 0
                options.ExpectLastSubjectSeq = expected ?? 0
                return js_PublishMsg(&ack, link.jetStream, raw, &options, &code)
            }
            defer { jsPubAck_Destroy(ack) }
            guard status == NATS_OK, let ack else {
                throw NATSError(status, Int(code.rawValue), during: message.task)
            }
            return StoredMessage(sequence: ack.pointee.Sequence, isDuplicate: ack.pointee.Duplicate)
        }
    }

    /// Returns the last message of a subject from the stream's leader, because other replicas may not have it yet.
    ///
    /// - Returns: The message; nil if there is none.
    package func leaderMessage(
        stream: String, subject: String, wait: Duration = .seconds(2)
    ) async throws(NATSError) -> StreamMessage? {
        let api = "$JS.API.STREAM.MSG.GET.\(stream)"
        return try await call("the read of \(subject)", subject: api, limit: wait + .seconds(1)) {
            link throws(NATSError) in
            try Self.leaderMessage(stream, subject, [], wait, link)
        }
    }

    /// Reads a message and passes it to a callback.
    ///
    /// - Parameter headers: The names of the headers to read.
    func leaderMessage(
        stream: String, subject: String, headers: [String] = [], wait: Duration = .seconds(2),
        on queue: BlockingCalls? = nil, then: @escaping @Sendable (Result<StreamMessage?, NATSError>) -> Void
    ) {
        let api = "$JS.API.STREAM.MSG.GET.\(stream)"
        call(
            "the read of \(subject)", subject: api, limit: wait + .seconds(1), on: queue,
            { link throws(NATSError) in try Self.leaderMessage(stream, subject, headers, wait, link) }, then: then)
    }

    private static func leaderMessage(
        _ stream: String, _ subject: String, _ headers: [String], _ wait: Duration, _ link: NATSLink
    ) throws(NATSError) -> StreamMessage? {
        guard NATSSubject.isValid(subject) else { throw NATSError(.invalidArgument, "a subject cannot be used") }
        var (raw, code) = (OpaquePointer?.none, jsErrCode(0))
        let status = withJSOptions(wait: wait) { js_GetLastMsg(&raw, link.jetStream, stream, subject, $0, &code) }
        defer { natsMsg_Destroy(raw) }
        if code.rawValue == 10037 { return nil }
        guard status == NATS_OK, let raw else {
            throw NATSError(status, Int(code.rawValue), during: "the read of \(subject)")
        }
        return StreamMessage(raw, subject: subject, headers: headers)
    }

    /// Calls `body` with options that contain the time limit.
    static func withJSOptions<Result>(wait: Duration, _ body: (UnsafeMutablePointer<jsOptions>) -> Result) -> Result {
        var options = jsOptions()
        jsOptions_Init(&options)
        options.Wait = wait.wholeNanoseconds / 1_000_000
        return body(&options)
    }
}
