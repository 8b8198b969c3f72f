import Basics
import CurlTransport
import MatrixProtocol
import Transport

struct HomeserverFacts {
    struct UploadSize {
        /// `nil` if the server reports none.
        var bytes: Int?
    }

    var maximumUploadSize: UploadSize?
    var hasAuthenticatedMedia: Bool?
}

/// A homeserver, and single requests to it.
final class Homeserver: Sendable {
    let options: MXRestClientOptions
    private let base: Lock<String>
    /// Answers that were requested once.
    let facts = Lock(HomeserverFacts())

    private let network: Lock<NetworkOptions>
    /// Decides whether to trust a certificate that no authority vouches for.
    private let certificateHandler: (@Sendable (Data) -> Bool)?

    init(_ base: String, options: MXRestClientOptions, certificateHandler: (@Sendable (Data) -> Bool)? = nil) {
        self.base = Lock(Self.withoutSlash(base))
        self.options = options
        self.certificateHandler = certificateHandler
        network = Lock(NetworkOptions(caFile: options.caFile, proxy: options.proxy, pinnedKey: options.pinnedKey))
    }

    /// The base URL without a trailing slash. A login may change it.
    var url: String {
        get { base.withLock { $0 } }
        set { base.withLock { $0 = Self.withoutSlash(newValue) } }
    }

    private static func withoutSlash(_ url: String) -> String {
        url.hasSuffix("/") ? withoutSlash(String(url.dropLast())) : url
    }

    func send(
        _ request: HTTPRequest, onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) async throws(TransportError) -> HTTPResponse {
        let network = network.withLock { $0 }
        do throws(TransportError) {
            return try await HTTPClient.send(request, options: network, onProgress: onProgress)
        } catch {
            guard error.code == .certificateUntrusted, let trusting = await trusting(request.url, network) else {
                throw error
            }
            return try await HTTPClient.send(request, options: trusting, onProgress: onProgress)
        }
    }

    /// Returns options that trust the server's untrusted certificate if the user accepts it. Nothing is sent to the
    /// server before.
    private func trusting(_ target: String, _ network: NetworkOptions) async -> NetworkOptions? {
        guard let certificateHandler, target.hasPrefix(url + "/"),
            let certificate = try? await HTTPClient.certificate(
                of: url, options: network, timeout: options.requestTimeout),
            let data = Self.contents(ofPEM: certificate), certificateHandler(data)
        else { return nil }
        return self.network.withLock { network in
            network.trustedCertificate = certificate
            return network
        }
    }

    private static func contents(ofPEM text: String) -> Data? {
        Data(base64Encoded: text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }.joined())
    }

    func request(_ call: APICall, token: String?) throws(MatrixError) -> HTTPRequest {
        var request = HTTPRequest(
            method: call.method.rawValue, url: url + (try call.target()), fields: ["Accept": "application/json"],
            timeout: options.requestTimeout, maximumBodySize: call.maximumAnswerSize ?? options.maximumResponseSize,
            followsRedirects: call.followsRedirects)
        request.stallTimeout = call.stallTimeout ?? options.requestTimeout
        request.acceptsCompression = true
        if call.needsFreshConnection { request.usesConnectionsSince = .now }
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
            switch error.kind {
            case .invalidArgument: .invalidArgument
            case .timedOut: .timedOut
            case .cancelled: .cancelled
            case .tooLarge: .tooLarge
            case .file: .file
            case .network: .network
            }
        self.init(code, error.message)
    }

    package static let cancelled = MatrixError(.cancelled, "the operation was cancelled")
}

extension TransportError {
    /// Whether a retry may succeed.
    var isTemporary: Bool {
        switch code {
        case .couldNotResolve, .couldNotConnect, .proxy, .timedOut, .connectionLost, .tls: true
        case .invalidRequest, .cancelled, .certificateExpired, .certificateUntrusted, .certificateWrongHost,
            .certificateWrongKey, .tooLarge, .file, .handshakeRefused, .notWebSocket, .protocolViolation:
            false
        }
    }

    /// Whether no part of the request can have reached the server.
    var neverLeft: Bool {
        switch code {
        case .couldNotResolve, .couldNotConnect, .proxy, .tls, .invalidRequest, .certificateExpired,
            .certificateUntrusted, .certificateWrongHost, .certificateWrongKey:
            true
        case .timedOut, .cancelled, .connectionLost, .tooLarge, .file, .handshakeRefused, .notWebSocket,
            .protocolViolation:
            false
        }
    }
}

/// Interprets answers; a response with any status is an answer.
enum APIAnswer {
    /// Returns how long to wait; proxies also say so, with pages of their own.
    static func retryAfter(_ error: any Error, _ response: HTTPResponse) -> Duration? {
        if let error = error as? MXError { return error.retryAfter }
        return response.fields["Retry-After"].flatMap { Int($0) }.map { .seconds(min(max($0, 0), 86_400)) }
    }

    /// Returns the error for a response with a failure status.
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
