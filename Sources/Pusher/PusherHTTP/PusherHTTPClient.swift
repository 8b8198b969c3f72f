import CurlTransport
import Foundation
import JSONBytes
import PusherProtocol
@_exported public import Transport

/// A client of the HTTP API of a server that speaks the Pusher protocol: publishing, channels, users.
///
///     let api = PusherHTTPClient(appID: "3", key: "key", secret: "secret", cluster: "eu")
///     try await api.trigger(event: "price", channels: ["prices"], data: #"{"value":1}"#)
///     let members = try await api.users(of: "presence-room")
///
/// Connections are kept alive and shared. You can make calls from any task; cancelling the task cancels the call. A
/// call with invalid arguments sends nothing and fails with ``PusherHTTPError/Kind-swift.enum/invalidArgument``.
public struct PusherHTTPClient: Sendable {
    /// A signer for the application's auth endpoint, with the same credentials.
    public let signer: PusherSigner
    package let maximumDataSize: Int

    private let appID: String
    private let host: String
    private let base: String
    private let prefix: String
    private let network: NetworkOptions
    private let timeout: Duration

    /// - Parameters:
    ///   - cluster: A cluster of Pusher Channels; `host` takes precedence.
    ///   - host: A name or address without scheme and port. Without `host` and `cluster`, the client uses the cluster
    ///     `mt1`.
    ///   - port: If `nil`, 443 with TLS and 80 without.
    ///   - path: A prefix before `/apps`, for servers behind a reverse proxy. It is not signed and must not contain dot
    ///     segments.
    ///   - caFile: A PEM file of authorities to trust instead of the system's.
    ///   - pinnedKey: The only key that the server may have. The issuer, name and dates of its certificate are not
    ///     checked. Meant for development servers. With a pinned key, calls without TLS fail. Defaults to `nil`.
    ///   - proxy: As in `PusherClientOptions`: `nil` uses the environment's settings, an empty string uses no proxy.
    ///   - encryptionMasterKey: Base64 of 32 bytes, for publishing on encrypted channels. The calls that need the key
    ///     report it if it is invalid.
    ///   - maximumDataSize: The maximum bytes of data in one event, after encryption if it is encrypted. Servers may
    ///     allow more than 10,240.
    ///   - timeout: The timeout of a whole call.
    public init(
        appID: String, key: String, secret: String, cluster: String? = nil, host: String? = nil, port: Int? = nil,
        path: String = "", useTLS: Bool = true, caFile: String? = nil, pinnedKey: PublicKeyPin? = nil,
        proxy: String? = nil, encryptionMasterKey: String? = nil, maximumDataSize: Int = 10_240,
        timeout: Duration = .seconds(30)
    ) {
        self.appID = appID
        signer = PusherSigner(key: key, secret: secret, encryptionMasterKey: encryptionMasterKey)
        self.maximumDataSize = maximumDataSize
        let host = host ?? cluster.map { "api-\($0).pusher.com" } ?? "api.pusherapp.com"
        self.host = host
        let bracketed = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        prefix = path.split(separator: "/").map { "/" + $0 }.joined()
        base = "\(useTLS ? "https" : "http")://\(bracketed)\(port.map { ":\($0)" } ?? "")\(prefix)"
        network = NetworkOptions(caFile: caFile, proxy: proxy, pinnedKey: pinnedKey)
        self.timeout = timeout
    }

    // MARK: Requests

    /// Returns the answer to a call with parameters.
    func get<Answer: Decodable>(
        _ call: String, query: [(name: String, value: String)] = [], as type: Answer.Type
    ) async throws(PusherHTTPError) -> Answer {
        try Self.decode(type, from: try await send("GET", call, query: query, body: [], isSafeToRepeat: true))
    }

    private struct AnyAnswer: Decodable {
        init(from decoder: any Decoder) {}
    }

    /// Returns the body of the answer to a call with a JSON body: JSON, or empty.
    ///
    /// - Parameter isSafeToRepeat: Whether the call may reach the server twice.
    func post(
        _ call: String, _ value: some Encodable, isSafeToRepeat: Bool = false
    ) async throws(PusherHTTPError) -> [UInt8] {
        let body = try CallersJSON.bytes(value, of: "the request")
        let answer = try await send("POST", call, query: [], body: body, isSafeToRepeat: isSafeToRepeat)
        // Servers answer with different JSON, some with nothing. A page from a proxy or a portal is not their answer.
        if !answer.isEmpty { _ = try Self.decode(AnyAnswer.self, from: answer) }
        return answer
    }

    static func decode<Answer: Decodable>(_ type: Answer.Type, from body: [UInt8]) throws(PusherHTTPError) -> Answer {
        do {
            return try JSONBytesDecoder().decode(type, from: body)
        } catch {
            throw PusherHTTPError(
                .unexpectedAnswer, status: 200,
                "the server's answer is not the JSON that this request returns: \(excerpt(body))"
            )
        }
    }

    private func send(
        _ method: String, _ call: String, query: [(name: String, value: String)], body: [UInt8], isSafeToRepeat: Bool
    ) async throws(PusherHTTPError) -> [UInt8] {
        guard !PathSegment.hasDots(path: prefix) else {
            throw PusherHTTPError(.invalidArgument, "the path prefix has a segment of dots; nothing was sent")
        }
        let path = "/apps/\(try ArgumentRules.segment(appID))/\(call)"
        let request = SignedRequest(method: method, path: path, query: query, body: body)
        let target = request.target(credentials: signer.credentials, timestamp: Int(Date().timeIntervalSince1970))
        var fields: HTTPFields = ["X-Pusher-Library": "pusher-http-swift \(LibraryVersion.current)"]
        if !body.isEmpty { fields["Content-Type"] = "application/json" }
        var exchange = HTTPRequest(method: method, url: base + target, fields: fields, body: body, timeout: timeout)
        exchange.isSafeToRepeat = isSafeToRepeat
        let span = CallSpan(method: method, call: call, host: host)
        span.inject(into: &exchange.fields)
        do throws(PusherHTTPError) {
            let response = try await answer(to: exchange)
            span.answered(status: response.status)
            try Self.check(response)
            span.end(with: nil)
            return response.body
        } catch {
            span.end(with: error)
            throw error
        }
    }

    private func answer(to request: HTTPRequest) async throws(PusherHTTPError) -> HTTPResponse {
        do throws(TransportError) {
            return try await HTTPClient.send(request, options: network)
        } catch {
            throw PusherHTTPError(
                error.code == .invalidRequest ? .invalidArgument : .unreachable, wasSent: error.isAfterConnecting,
                error.message)
        }
    }

    private static func check(_ response: HTTPResponse) throws(PusherHTTPError) {
        let kind: PusherHTTPError.Kind
        let isPage = response.body.first { $0 > 0x20 } == UInt8(ascii: "<")
        switch response.status {
        case 200, 202: return
        case 404 where isPage: kind = .unexpectedAnswer  // from another server, or below another path
        case 401, 403: kind = .refused
        case 400, 404, 413, 422: kind = .rejected
        case 429, 500...: kind = .serverFailure
        default: kind = .unexpectedAnswer
        }
        let redirect = (300..<400).contains(response.status) ? ", and redirects are not followed" : ""
        throw PusherHTTPError(
            kind, status: response.status, "the server answered: \(excerpt(response.body))\(redirect)")
    }

    /// Returns the server's own message if it is readable text.
    private static func excerpt(_ body: [UInt8]) -> String {
        let text = String(decoding: body.prefix(300), as: UTF8.self)
            .components(separatedBy: .controlCharacters.union(.newlines)).joined(separator: " ")
            .trimmingCharacters(in: .whitespaces)
        if text.isEmpty { return "nothing" }
        return text.hasPrefix("<") ? "an HTML page" : text
    }
}
