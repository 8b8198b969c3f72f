import RelayProtocol
import RelayTestSupport

@testable import EventRelay

extension NATSServer {
    /// Returns a connection of `user`, or an anonymous one.
    func connect(_ user: String? = nil, password: String = "pw") async throws -> NATSConnection {
        var options = try NATSOptions(url)
        options.credentials = user.map { .user($0, password: password) }
        let connection = NATSConnection(options)
        try await connection.connect()
        return connection
    }

    /// Connects, and sets up a stream of events and one of records.
    func connectWithStreams() async throws -> NATSConnection {
        let connection = try await connect()
        _ = try await connection.setUp(.events(replicas: 1, maximumBytes: 64 << 20))
        _ = try await connection.setUp(.records(replicas: 1))
        return connection
    }
}

extension JetStreamPublisher {
    func publish(_ messages: [(token: Int, message: OutgoingMessage)]) {
        publish(
            messages.map { token, message in
                Outbox.Entry(
                    number: token, token: UInt64(token), unit: "a", term: 1, message: message,
                    byteCount: message.payload.count, time: 0)
            })
    }
}

extension OutgoingMessage {
    static func make(
        _ subject: String = "ev.pusher.price.update", id: String? = nil, payload: String = "{}",
        headers: [(name: String, value: String)] = []
    ) -> Self {
        OutgoingMessage(subject: subject, headers: headers, payload: Array(payload.utf8), messageID: id)
    }
}
