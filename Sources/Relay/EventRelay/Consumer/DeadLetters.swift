import RelayProtocol

/// The destination of events that a group could not handle.
struct DeadLetters: Sendable {
    private let prefix: String

    /// - Parameters:
    ///   - prefix: The prefix of the subjects of all dead letters.
    ///   - consumer: The group's name on the servers.
    init(_ prefix: String, _ consumer: String) { self.prefix = "\(prefix).\(consumer)" }

    func letter(_ delivery: Delivery, _ reason: String) -> OutgoingMessage {
        let info = delivery.info
        var subject = "\(prefix).\(delivery.message.subject)"
        if !NATSSubject.isValid(subject) { subject = "\(prefix).\(info.streamSequence)" }
        var headers = delivery.message.encodedHeaders
        headers.append(("Relay-Dead-Stream", info.stream))
        headers.append(("Relay-Dead-Sequence", "\(info.streamSequence)"))
        headers.append(("Relay-Dead-Reason", HeaderValue.encode(reason)))
        return OutgoingMessage(
            subject: subject, headers: headers, payload: delivery.message.payload,
            messageID: MessageID.deadLetter(
                stream: info.stream, consumer: info.consumer, sequence: info.streamSequence))
    }
}

extension IncomingMessage {
    /// The headers that were read, in a form that can be sent again.
    fileprivate var encodedHeaders: [(name: String, value: String)] {
        RelayMessage.headerNames.compactMap { name in
            guard let value = header(name), NATSSubject.isHeader(value) else { return nil }
            return (name, value)
        }
    }
}
