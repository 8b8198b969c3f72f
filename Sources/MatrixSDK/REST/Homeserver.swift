import CurlTransport
import MatrixProtocol
import Transport

/// What a homeserver has said of itself.
struct HomeserverFacts {
    struct UploadSize {
        /// Nil: it does not say.
        var bytes: Int?
    }

    var maximumUploadSize: UploadSize?
    var hasAuthenticatedMedia: Bool?
}

/// Where requests go, and how one is sent once.
final class Homeserver: Sendable {
    let options: MXRestClientOptions
    let network: NetworkOptions
    private let base: Lock<String>
    /// What was asked once.
    let facts = Lock(HomeserverFacts())

    /// Asked about certificates that no authority vouches for.
    private let certificateHandler: (@Sendable (Data) -> Bool)?

    init(_ base: String, options: MXRestClientOptions, certificateHandler: (@Sendable (Data) -> Bool)? = nil) {
        self.base = Lock(Self.withoutSlash(base))
        self.options = options
        self.certificateHandler = certificateHandler
        network = NetworkOptions(caFile: options.caFile, proxy: options.proxy)
    }

    /// Without a slash at its end. A login may move it.
    var url: String {
        get { base.withLock { $0 } }
        set { base.withLock { $0 = Self.withoutSlash(newValue) } }
    }

    private static func withoutSlash(_ url: String) -> String {
        url.hasSuffix("/") ? withoutSlash(String(url.dropLast())) : url
    }

    /// Sends once.
    func send(
        _ request: HTTPRequest, onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) async throws(TransportError) -> HTTPResponse {
        try await HTTPClient.send(request, options: network, onProgress: onProgress)
    }

    func request(_ call: APICall, token: String?) throws(MatrixError) -> HTTPRequest {
        var request = HTTPRequest(
            method: call.method.rawValue, url: url + (try call.target()), fields: ["Accept": "application/json"],
            timeout: call.timeout ?? options.requestTimeout,
            maximumBodySize: call.maximumAnswerSize ?? options.maximumResponseSize,
            followsRedirects: call.followsRedirects)
        request.acceptsCompression = true
        if let token { request.fields["Authorization"] = "Bearer \(token)" }
        if let body = call.body {
            request.body = try body.bytes.get()
            request.fields["Content-Type"] = "application/json"
        }
        return request
    }
}

extension MatrixError {
    init(_ error: TransportError) {
        let code: Code =
            switch error.code {
            case .invalidRequest: .invalidArgument
            case .timedOut: .timedOut
            case .cancelled: .cancelled
            case .tooLarge: .tooLarge
            case .file: .file
            case .couldNotResolve, .couldNotConnect, .proxy, .certificateExpired, .certificateUntrusted,
                .certificateWrongHost, .tls, .connectionLost, .handshakeRefused, .notWebSocket, .protocolViolation:
                .network
            }
        self.init(code, error.message)
    }

    static let cancelled = MatrixError(.cancelled, "the operation was cancelled")
}

extension TransportError {
    /// Whether another try may do better.
    var isTemporary: Bool {
        switch code {
        case .couldNotResolve, .couldNotConnect, .proxy, .timedOut, .connectionLost, .tls: true
        case .invalidRequest, .cancelled, .certificateExpired, .certificateUntrusted, .certificateWrongHost, .tooLarge,
            .file,
            .handshakeRefused, .notWebSocket, .protocolViolation:
            false
        }
    }

    /// Whether nothing of the request can have reached the server.
    var neverLeft: Bool {
        switch code {
        case .couldNotResolve, .couldNotConnect, .proxy, .tls, .invalidRequest, .certificateExpired,
            .certificateUntrusted, .certificateWrongHost:
            true
        case .timedOut, .cancelled, .connectionLost, .tooLarge, .file, .handshakeRefused, .notWebSocket,
            .protocolViolation:
            false
        }
    }
}

/// What an answer says; every status is an answer.
enum APIAnswer {
    /// The error that a status of failure stands for.
    static func error(_ response: HTTPResponse, of call: String) -> any Error {
        if let error = MXError(
            status: response.status, body: response.body, retryAfter: response.fields["Retry-After"])
        {
            return error
        }
        return MatrixError(
            .http(status: response.status),
            "the server answered \(call) with status \(response.status) and no Matrix error: a proxy's page, perhaps")
    }
}
