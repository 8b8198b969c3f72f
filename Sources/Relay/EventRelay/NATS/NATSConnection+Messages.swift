import Basics
import CNATS

extension NATSConnection {
    /// Sends a short message without an acknowledgement.
    func send(_ subject: String, _ text: String) async throws(NATSError) {
        try await call("a message to \(subject)") { link throws(NATSError) in
            try Self.send(subject, text, link)
        }
    }

    /// Sends a message without reporting the result.
    func sendSoon(_ subject: String, _ text: String) {
        call(
            "a message to \(subject)", { link throws(NATSError) in try Self.send(subject, text, link) },
            then: { (_: Result<Void, NATSError>) in })
    }

    private static func send(_ subject: String, _ text: String, _ link: NATSLink) throws(NATSError) {
        let status = natsConnection_PublishString(link.connection, subject, text)
        guard status == NATS_OK else { throw NATSError(status, during: "a message to \(subject)") }
    }

    /// Sends a short message and waits for its answer, which only confirms its receipt.
    func request(_ subject: String, _ text: String, wait: Duration = .seconds(5)) async throws(NATSError) {
        try await call("a request to \(subject)", subject: subject, limit: wait + .seconds(1)) {
            link throws(NATSError) in
            var answer: OpaquePointer?
            let status = natsConnection_RequestString(
                &answer, link.connection, subject, text, wait.wholeNanoseconds / 1_000_000)
            natsMsg_Destroy(answer)
            guard status == NATS_OK else { throw NATSError(status, during: "a request to \(subject)") }
        }
    }
}
