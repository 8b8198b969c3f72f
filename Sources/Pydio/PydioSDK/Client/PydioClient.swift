import PydioProtocol
import Transport

/// A client of one Pydio server.
///
/// Who logs in is set once, in ``ServersParamsManager``; calls log in by themselves when the server asks for it, and are then
/// made again, once. Any number of calls may be under way at a time: they share one login. Each call exists in two forms. The
/// `async` form throws ``PydioError``, and cancelling its task ends its HTTP request. The form with blocks returns at once and
/// calls exactly one of them, once, on ``PydioClientOptions/completionQueue``.
///
/// When a call fails with ``PydioError/Code-swift.enum/getSeedWithCaptcha`` or
/// ``PydioError/Code-swift.enum/loginWithCaptcha``: fetch the image with ``getCaptcha()``, log in with
/// ``login(captcha:)``, and make the call again.
public final class PydioClient: Sendable {
    /// The server.
    public let serverURL: URL
    /// How it behaves.
    public let options: PydioClientOptions
    let params: ServersParamsManager
    /// The two parts; an address that cannot be one is told of by each call.
    private let parts: Result<OperationsClient, PydioError>
    let report: StateReport

    /// - Parameters:
    ///   - server: The folder of the server's script, `https://example.org/pydio/`; `http` or `https`.
    ///   - params: Knows the user and keeps the session.
    ///   - options: See there.
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

    /// The same with an address as text.
    public convenience init(
        server: String, params: ServersParamsManager = .shared, options: PydioClientOptions = PydioClientOptions()
    ) {
        self.init(server: URL(string: server) ?? URL(filePath: "/"), params: params, options: options)
    }

    func operations() throws(PydioError) -> OperationsClient { try parts.get() }

    // MARK: State

    /// What the client is doing; of many calls at a time, what the last change of any of them was.
    public var state: PydioClientState { report.state }

    /// Whether calls are pending: true as soon as one with blocks was started, until its block has run.
    public var progress: Bool { report.progress }

    /// Told of each change of ``state``, in order, on ``PydioClientOptions/completionQueue``. A call with blocks is finished
    /// after its block.
    public var onStateChange: (@Sendable (PydioClientState) -> Void)? {
        get { report.handler }
        set { report.handler = newValue }
    }

    /// ``onStateChange`` under the original's name.
    public var stateChangeBlock: (@Sendable (PydioClientState) -> Void)? {
        get { onStateChange }
        set { onStateChange = newValue }
    }

    // MARK: Calls

    /// A call of one request.
    func call<Value: Sendable>(
        _ request: PydioRequest, _ recogniser: AnswerRecogniser<Value>
    ) async throws -> Value {
        let operations = try operations()
        return try await operations.call { try await operations.value(of: request, recogniser) }
    }

    /// The form with blocks of a call.
    func start<Value: Sendable>(
        _ success: @escaping (Value) -> Void, _ failure: @escaping (PydioError) -> Void,
        _ body: @escaping @Sendable () async throws -> Value
    ) -> PydioOperation {
        PydioOperation.start(on: options.completionQueue, report, success, failure, body)
    }
}
