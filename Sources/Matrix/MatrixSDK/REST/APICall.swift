import CurlTransport
import MatrixProtocol
import Transport

/// One call of the client-server API. Retries send it more than once.
struct APICall: Sendable {
    enum Authorization: Sendable {
        /// Sent with the access token; fails without sending if there is none.
        case required
        /// Sent with the access token if there is one.
        case optional
        case none
    }

    enum Method: String, Sendable {
        case get = "GET"
        case put = "PUT"
        case post = "POST"
        case delete = "DELETE"
    }

    let method: Method
    let path: EndpointPath
    var query: [(name: String, value: String?)]
    var body: EncodedJSON?
    var authorization: Authorization
    /// Whether the call may be repeated without changing its effect.
    var isRepeatable: Bool
    /// Whether the pipeline retries when the connection fails.
    var survivesConnections = true
    /// Whether the server may first require user-interactive authentication.
    var isInteractive = false
    var followsRedirects = false
    /// Whether kept-alive connections may be dead.
    var needsFreshConnection = false
    /// The idle timeout; `nil` uses the client's option.
    var stallTimeout: Duration?
    /// Called on the I/O thread occasionally while the answer arrives.
    var onProgress: (@Sendable (HTTPProgress) -> Void)?
    /// In bytes; `nil` uses the client's option.
    var maximumAnswerSize: Int?

    /// - Parameters:
    ///   - query: Parameters with a `nil` value are omitted.
    ///   - hasTransactionId: Whether the path ends with one, which identifies repeats.
    init(
        _ method: Method, _ path: EndpointPath, query: [(name: String, value: String?)] = [], body: EncodedJSON? = nil,
        authorization: Authorization = .required, hasTransactionId: Bool = false
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.body = body
        self.authorization = authorization
        isRepeatable = method == .get || hasTransactionId
    }

    /// Creates a call with a JSON body of these members, omitting those that are `nil`.
    init(
        _ method: Method, _ path: EndpointPath, query: [(name: String, value: String?)] = [],
        json: [String: (any Sendable)?], authorization: Authorization = .required
    ) {
        let body = EncodedJSON(json.compactMapValues { $0 })
        self.init(method, path, query: query, body: body, authorization: authorization)
    }

    /// The name to show in messages, without ids and parameters.
    var name: String { "\(method.rawValue) \(path.template)" }

    func target() throws(MatrixError) -> String {
        guard path.isUsable else {
            throw MatrixError(.invalidArgument, "\(name) needs ids that are neither empty nor dots; nothing was sent")
        }
        let parameters = query.compactMap { parameter in
            parameter.value.map { parameter.name.percentEncoded + "=" + $0.percentEncoded }
        }
        return parameters.isEmpty ? path.text : path.text + "?" + parameters.joined(separator: "&")
    }
}
