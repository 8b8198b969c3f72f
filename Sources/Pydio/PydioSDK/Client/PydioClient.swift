import PydioProtocol
import Transport

/// A client of one Pydio server.
///
/// Set the user once, in ``ServersParamsManager``. Calls log in automatically when the server requires it, and are then
/// retried once. Any number of calls may run at a time; they share one login. Each call exists in two forms. The
/// `async` form throws ``PydioError``, and cancelling its task ends its HTTP request. The form with blocks returns at
/// once and calls exactly one of the blocks, once, on ``PydioClientOptions/completionQueue``.
///
/// When a call fails with ``PydioError/Code-swift.enum/getSeedWithCaptcha`` or
/// ``PydioError/Code-swift.enum/loginWithCaptcha``, fetch the image with ``getCaptcha()``, log in with
/// ``login(captcha:)``, and repeat the call.
public final class PydioClient: Sendable {
    /// The server.
    public let serverURL: URL
    /// The client's options.
    public let options: PydioClientOptions
    let params: ServersParamsManager
    /// The client's parts, or the error for an invalid address, which each call reports.
    private let parts: Result<OperationsClient, PydioError>
    let report: StateReport

    /// - Parameters:
    ///   - server: The URL of the folder with the server's script, such as `https://example.org/pydio/`; `http` or
    ///     `https`.
    ///   - params: The manager of the user and the session.
    ///   - options: The client's options.
    public init(
        server: URL, params: ServersParamsManager = .shared, options: PydioClientOptions = PydioClientOptions()
    ) {
        serverURL = server
        self.params = params
        self.options = options
        let report = StateReport(on: options.completionQueue)
        self.report = report
        parts = Result { () throws(PydioError) in
            let connection = ServerConnection(try ServerAddress(server), options: options)
            let authorization = AuthorizationClient(
                connection, session: params.session(for: server), options: options)
            return OperationsClient(authorization, options: options, report: report)
        }
    }

    /// Creates a client with the server's address as text.
    public convenience init(
        server: String, params: ServersParamsManager = .shared, options: PydioClientOptions = PydioClientOptions()
    ) {
        self.init(server: URL(string: server) ?? URL(filePath: "/"), params: params, options: options)
    }

    func operations() throws(PydioError) -> OperationsClient { try parts.get() }

    // MARK: State

    /// The client's activity. With concurrent calls, the latest change of any of them.
    public var state: PydioClientState { report.state }

    /// Whether calls are pending. For a call with blocks, true from its start until its block has run.
    public var progress: Bool { report.progress }

    /// Called on each change of ``state``, in order, on ``PydioClientOptions/completionQueue``. A call with blocks is
    /// finished after its block.
    public var onStateChange: (@Sendable (PydioClientState) -> Void)? {
        get { report.handler }
        set { report.handler = newValue }
    }

    /// Same as ``onStateChange``, under the name in the original library.
    public var stateChangeBlock: (@Sendable (PydioClientState) -> Void)? {
        get { onStateChange }
        set { onStateChange = newValue }
    }

    // MARK: Calls

    /// Makes a call that consists of one request.
    func call<Value: Sendable>(
        _ request: PydioRequest, _ recogniser: AnswerRecogniser<Value>
    ) async throws -> Value {
        let operations = try operations()
        return try await operations.call { try await operations.value(of: request, recogniser) }
    }

    /// Starts a call in the form with blocks.
    func start<Value: Sendable>(
        _ success: @escaping (Value) -> Void, _ failure: @escaping (PydioError) -> Void,
        _ body: @escaping @Sendable () async throws -> Value
    ) -> PydioOperation {
        PydioOperation.start(on: options.completionQueue, report, success, failure, body)
    }
}
