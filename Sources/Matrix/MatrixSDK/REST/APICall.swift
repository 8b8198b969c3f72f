import CurlTransport
import MatrixProtocol
import Transport

/// One call of the client-server API, to be sent as often as it takes.
struct APICall: Sendable {
    enum Authorization: Sendable {
        /// With the access token; fails here without one.
        case required
        /// With the access token, if there is one.
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
    /// Making it twice does what making it once does.
    var isRepeatable: Bool
    /// Whether the pipeline tries again when the connection fails.
    var survivesConnections = true
    /// Whether the server may first ask for user-interactive authentication.
    var isInteractive = false
    var followsRedirects = false
    /// Whether connections that were kept alive may be dead.
    var needsFreshConnection = false
    /// How long nothing may move; nil: as the client's options say.
    var stallTimeout: Duration?
    /// Told on the I/O thread, now and then, that some of the answer has come.
    var onProgress: (@Sendable (HTTPProgress) -> Void)?
    /// Nil: as the client's options say.
    var maximumAnswerSize: Int?

    /// - Parameters:
    ///   - query: Without those whose value is nil.
    ///   - hasTransactionId: The path ends with one: the server takes a repeat for the same request.
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

    /// The same with a body of these members; those that are nil are left out.
    init(
        _ method: Method, _ path: EndpointPath, query: [(name: String, value: String?)] = [],
        json: [String: (any Sendable)?], authorization: Authorization = .required
    ) {
        let body = EncodedJSON(json.compactMapValues { $0 })
        self.init(method, path, query: query, body: body, authorization: authorization)
    }

    /// For messages: without ids and parameters.
    var name: String { "\(method.rawValue) \(path.template)" }

    /// Path and query.
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
