import Basics
import CNATS
package import RelayProtocol

/// What a stream has done with a message.
package struct StoredMessage: Hashable, Sendable {
    /// Of the first copy, if it is a duplicate.
    package let sequence: UInt64
    /// The stream had a message of this id.
    package let isDuplicate: Bool
}

/// A message that a stream has.
package struct StreamMessage: Sendable {
    package let sequence: UInt64
    package let payload: [UInt8]
    package let subject: String
    private let message: IncomingMessage

    init(_ raw: OpaquePointer, subject: String, headers: [String]) {
        message = IncomingMessage(raw, headers: headers)
        (sequence, payload, self.subject) = (natsMsg_GetSequence(raw), message.payload, subject)
    }

    /// One of those that were asked for.
    package func header(_ name: String) -> String? { message.header(name) }
}

extension NATSConnection {
    /// Publishes one message and waits until it is stored.
    ///
    /// Safe as the one write of a record only together with a message id: servers before 2.9.21 let two writes over the same
    /// sequence win at once.
    ///
    /// - Parameters:
    ///   - expected: The sequence of the last message of this subject; zero if there must be none.
    ///   - wait: For the answer. A time-out leaves it open whether the message was stored.
    package func publish(
        _ message: OutgoingMessage, expectedLastSubjectSequence expected: UInt64? = nil, wait: Duration = .seconds(2)
    ) async throws(NATSError) -> StoredMessage {
        try await call(message.task, subject: message.subject, limit: wait + .seconds(1)) { link throws(NATSError) in
            try Self.publish(message, expected, wait, link)
        }
    }

    /// The same with a callback.
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
                // Zero as an expected sequence sends no condition at all.
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

    /// The last message of a subject, from the stream's leader: other replicas may not have it yet.
    ///
    /// - Returns: Nil if there is none.
    package func leaderMessage(
        stream: String, subject: String, wait: Duration = .seconds(2)
    ) async throws(NATSError) -> StreamMessage? {
        let api = "$JS.API.STREAM.MSG.GET.\(stream)"
        return try await call("the read of \(subject)", subject: api, limit: wait + .seconds(1)) {
            link throws(NATSError) in
            try Self.leaderMessage(stream, subject, [], wait, link)
        }
    }

    /// The same with a callback.
    ///
    /// - Parameter headers: Names of those that matter.
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

    /// Calls `body` with options that say how long to wait.
    static func withJSOptions<Result>(wait: Duration, _ body: (UnsafeMutablePointer<jsOptions>) -> Result) -> Result {
        var options = jsOptions()
        jsOptions_Init(&options)
        options.Wait = wait.wholeNanoseconds / 1_000_000
        return body(&options)
    }
}
