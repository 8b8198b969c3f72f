import Basics
import CNATS
import RelayProtocol

extension OutgoingMessage {
    var task: String { "the publish to \(subject)" }

    /// Refuses values that libnats would send unchanged and the server would misread.
    func validate() throws(NATSError) {
        guard NATSSubject.isValid(subject) else {
            throw NATSError(.invalidArgument, "a subject has an empty token, a space, a wildcard or too many bytes")
        }
        guard headers.allSatisfy({ NATSSubject.isToken($0.name) && NATSSubject.isHeader($0.value) }),
            messageID.map(NATSSubject.isHeader) ?? true, expectedStream.map(NATSSubject.isHeader) ?? true
        else {
            throw NATSError(.invalidArgument, "a header of a message to \(subject) is not encoded")
        }
    }

    /// Calls `body` with a message of libnats. Frees it unless `body` takes it by setting it to nil.
    func withRaw<Result>(_ body: (inout OpaquePointer?) throws(NATSError) -> Result) throws(NATSError) -> Result {
        try validate()
        var raw: OpaquePointer?
        var status = payload.withUnsafeBytes {
            natsMsg_Create(
                &raw, subject, nil, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: $0.count))
        }
        defer { if let raw { natsMsg_Destroy(raw) } }
        for header in headers where status == NATS_OK { status = natsMsgHeader_Set(raw, header.name, header.value) }
        guard status == NATS_OK else { throw NATSError(status, during: task) }
        return try body(&raw)
    }

    /// Calls `body` with the conditions common to all publishes.
    func withPublishOptions<Result>(wait: Duration, _ body: (inout jsPubOptions) -> Result) -> Result {
        var options = jsPubOptions()
        jsPubOptions_Init(&options)
        options.MaxWait = wait.wholeNanoseconds / 1_000_000
        return withOptional(messageID) { id in
            withOptional(expectedStream) { stream in
                (options.MsgId, options.ExpectStream) = (id, stream)
                return body(&options)
            }
        }
    }
}

func withOptional<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    guard let text else { return body(nil) }
    return text.withCString { body($0) }
}

package struct IncomingMessage: Sendable {
    package let subject: String
    /// The subject for answers such as acks.
    package let reply: String?
    package let payload: [UInt8]
    /// The status of a message without payload from the server itself, such as 408.
    package let status: Int?
    private let headers: [String: String]

    /// Copies a message of libnats, which the caller still owns.
    ///
    /// - Parameter names: The names of the headers to read.
    init(_ raw: OpaquePointer, headers names: [String] = []) {
        subject = natsMsg_GetSubject(raw).map { String(cString: $0) } ?? ""
        reply = natsMsg_GetReply(raw).map { String(cString: $0) }
        let count = Int(natsMsg_GetDataLength(raw))
        payload =
            natsMsg_GetData(raw).map {
                Array(UnsafeRawBufferPointer(start: $0, count: count))
            } ?? []
        status = payload.isEmpty ? Self.header("Status", of: raw).flatMap { Int($0) } : nil
        var headers: [String: String] = [:]
        for name in names { headers[name] = Self.header(name, of: raw) }
        self.headers = headers
    }

    package func header(_ name: String) -> String? { headers[name] }

    private static func header(_ name: String, of raw: OpaquePointer) -> String? {
        var value: UnsafePointer<CChar>?
        guard natsMsgHeader_Get(raw, name, &value) == NATS_OK, let value else { return nil }
        return String(cString: value)
    }
}
