import CurlTransport
import Foundation
import PusherProtocol
import Transport

/// Publishes events through the HTTP API of a server that speaks the Pusher protocol.
///
///     let api = PusherHTTPClient(appID: "3", key: "key", secret: "secret", cluster: "eu")
///     try await api.trigger(event: "price", channels: ["prices"], data: #"{"value":1}"#)
///
/// Connections are kept alive and shared. Calls may be made from any task, and cancelling the task cancels the call.
public struct PusherHTTPClient: Sendable {
    /// Channels that one ``trigger(event:channels:data:socketID:)`` may name.
    public static let maximumChannels = 100
    /// Events that one ``triggerBatch(_:)`` may hold.
    public static let maximumBatch = 10

    private let appID: String
    private let credentials: AppCredentials
    private let encryptionMasterKey: String?
    private let base: String
    private let network: NetworkOptions
    private let timeout: Duration

    /// - Parameters:
    ///   - cluster: A cluster of Pusher Channels; `host` wins over it.
    ///   - host: Name or address without scheme and port. Without either: the cluster `mt1`.
    ///   - port: Nil is 443 with TLS and 80 without.
    ///   - path: A prefix before `/apps`, for servers behind a reverse proxy. It is not part of what is signed.
    ///   - caFile: A PEM file of authorities to trust instead of the system's.
    ///   - proxy: As in `PusherClientOptions`: nil is what the environment says, empty is none.
    ///   - encryptionMasterKey: Base64 of 32 bytes, for publishing on encrypted channels. One that cannot be used is
    ///     reported by the calls that need it.
    ///   - timeout: For a whole call.
    public init(
        appID: String, key: String, secret: String, cluster: String? = nil, host: String? = nil, port: Int? = nil,
        path: String = "", useTLS: Bool = true, caFile: String? = nil, proxy: String? = nil,
        encryptionMasterKey: String? = nil, timeout: Duration = .seconds(30)
    ) {
        self.appID = appID
        credentials = AppCredentials(key: key, secret: secret)
        self.encryptionMasterKey = encryptionMasterKey
        let host = host ?? cluster.map { "api-\($0).pusher.com" } ?? "api.pusherapp.com"
        let bracketed = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let prefix = path.split(separator: "/").map { "/" + $0 }.joined()
        base = "\(useTLS ? "https" : "http")://\(bracketed)\(port.map { ":\($0)" } ?? "")\(prefix)"
        network = NetworkOptions(caFile: caFile, proxy: proxy)
        self.timeout = timeout
    }

    // MARK: Publishing

    /// Publishes an event on channels. For an encrypted channel, which then must be the only one, the data is encrypted.
    ///
    /// - Parameters:
    ///   - data: Any text; JSON by convention. The server accepts 10 KB.
    ///   - socketID: A connection that does not get the event, usually the one that caused it.
    public func trigger(
        event: String, channels: [String], data: String, socketID: String? = nil
    ) async throws(PusherHTTPError) {
        guard !channels.isEmpty, channels.count <= Self.maximumChannels else {
            throw PusherHTTPError(
                .invalidArgument, "an event goes to 1 to \(Self.maximumChannels) channels, not \(channels.count)")
        }
        let names = try channels.map(Self.channelName)
        guard names.count == 1 || !names.contains(where: { $0.kind == .encrypted }) else {
            throw PusherHTTPError(.invalidArgument, "an event for an encrypted channel goes to that channel alone")
        }
        let socketID = try socketID.map(Self.validate(socketID:))
        let data = try encrypted(data, for: names[0])
        try await post("events", Publication(name: event, channels: channels, data: data, socket_id: socketID))
    }

    /// One event of a batch.
    public struct BatchEvent: Hashable, Sendable {
        /// The channel to publish on.
        public var channel: String
        /// The event's name.
        public var event: String
        /// Any text; JSON by convention.
        public var data: String
        /// A connection that does not get the event.
        public var socketID: String?

        /// An event for ``PusherHTTPClient/triggerBatch(_:)``.
        public init(channel: String, event: String, data: String, socketID: String? = nil) {
            self.channel = channel
            self.event = event
            self.data = data
            self.socketID = socketID
        }
    }

    /// Publishes several events in one call, in order.
    public func triggerBatch(_ events: [BatchEvent]) async throws(PusherHTTPError) {
        guard !events.isEmpty, events.count <= Self.maximumBatch else {
            throw PusherHTTPError(
                .invalidArgument, "a batch holds 1 to \(Self.maximumBatch) events, not \(events.count)")
        }
        var batch: [Batch.Event] = []
        for event in events {
            let data = try encrypted(event.data, for: try Self.channelName(event.channel))
            batch.append(
                Batch.Event(
                    name: event.event, channel: event.channel, data: data,
                    socket_id: try event.socketID.map(Self.validate(socketID:))))
        }
        try await post("batch_events", Batch(batch: batch))
    }

    // MARK: Wire

    private struct Publication: Encodable {
        let name: String
        let channels: [String]
        let data: String
        let socket_id: String?
    }

    private struct Batch: Encodable {
        struct Event: Encodable {
            let name: String
            let channel: String
            let data: String
            let socket_id: String?
        }

        let batch: [Event]
    }

    private static func channelName(_ channel: String) throws(PusherHTTPError) -> ChannelName {
        do throws(InvalidChannelName) {
            return try ChannelName(channel)
        } catch {
            throw PusherHTTPError(.invalidArgument, error.description)
        }
    }

    /// What is sent for `data`: on an encrypted channel nobody but its members can read it.
    private func encrypted(_ data: String, for channel: ChannelName) throws(PusherHTTPError) -> String {
        guard channel.kind == .encrypted else { return data }
        guard let encryptionMasterKey else {
            throw PusherHTTPError(.invalidArgument, "publishing on an encrypted channel needs an encryptionMasterKey")
        }
        guard let masterKey = EncryptionMasterKey(base64: encryptionMasterKey) else {
            throw PusherHTTPError(.invalidArgument, "the encryptionMasterKey is not base64 of 32 bytes")
        }
        var random = SystemRandomNumberGenerator()
        return masterKey.key(of: channel).encrypt(data, using: &random)
    }

    private static func validate(socketID: String) throws(PusherHTTPError) -> String {
        guard SocketID(socketID) != nil else {
            throw PusherHTTPError(.invalidArgument, "a socket id is two numbers joined by a dot")
        }
        return socketID
    }

    private func post(_ call: String, _ value: some Encodable) async throws(PusherHTTPError) {
        guard let body = try? JSONEncoder().encode(value) else {
            throw PusherHTTPError(.invalidArgument, "the request cannot be written as JSON")
        }
        let request = SignedRequest(method: "POST", path: "/apps/\(appID)/\(call)", body: Array(body))
        let target = request.target(credentials: credentials, timestamp: Int(Date().timeIntervalSince1970))
        let response: HTTPResponse
        do throws(TransportError) {
            response = try await HTTPClient.send(
                HTTPRequest(
                    method: "POST", url: base + target, fields: ["Content-Type": "application/json"],
                    body: request.body, timeout: timeout),
                options: network)
        } catch {
            throw PusherHTTPError(error.code == .invalidRequest ? .invalidArgument : .unreachable, error.message)
        }
        try Self.check(response)
    }

    private static func check(_ response: HTTPResponse) throws(PusherHTTPError) {
        let kind: PusherHTTPError.Kind
        switch response.status {
        case 200, 202: return
        case 401, 403: kind = .refused
        case 400, 404, 413, 422: kind = .rejected
        case 429, 500...: kind = .serverFailure
        default: kind = .unexpectedAnswer
        }
        throw PusherHTTPError(kind, status: response.status, "the server answered: \(excerpt(response.body))")
    }

    /// The server's own words, as far as they are words.
    private static func excerpt(_ body: [UInt8]) -> String {
        let text = String(decoding: body.prefix(300), as: UTF8.self)
            .components(separatedBy: .controlCharacters.union(.newlines)).joined(separator: " ")
            .trimmingCharacters(in: .whitespaces)
        if text.isEmpty { return "nothing" }
        return text.hasPrefix("<") ? "an HTML page" : text
    }
}
