import Basics
import PydioProtocol
import Transport

/// Sends requests and recognizes their answers; gets an authorization when the server requires it.
final class OperationsClient: Sendable {
    let authorization: AuthorizationClient
    let options: PydioClientOptions
    let report: StateReport
    /// The server's upload limit, as far as known; `nil` if it hasn't been requested.
    let uploadLimit = Lock<KnownUploadLimit?>(nil)

    /// How often a call is resent because other calls have renewed the authorization meanwhile.
    private static let overtakings = 3

    init(_ authorization: AuthorizationClient, options: PydioClientOptions, report: StateReport) {
        self.authorization = authorization
        self.options = options
        self.report = report
    }

    private var connection: ServerConnection { authorization.connection }

    /// Runs a call of any number of requests, and reports its states.
    @concurrent
    func call<Value: Sendable>(
        _ first: PydioClientState = .operation, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        let isEndedByBlock = EndOfCall.current?.begin(first, of: report) ?? false
        if !isEndedByBlock { report.begin(first) }
        defer { if !isEndedByBlock { report.end() } }
        do {
            return try await body()
        } catch {
            throw PydioError(any: error)
        }
    }

    /// Makes a request until it succeeds or fails: repeats it after an authorization, once for each kind of refusal. A
    /// server that has lost its session first refuses the token and then, with a new token, the unknown user.
    func value<Value: Sendable>(
        of request: PydioRequest, _ recogniser: AnswerRecogniser<Value>,
        onProgress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) async throws -> Value {
        try request.validate()
        guard authorization.canAuthorize else { throw AuthorizationMachine.nobody }
        // Avoids sending a file in vain; and only a login shows whether there are key pairs.
        if request.upload != nil || request.needsKeyPair, authorization.hasNoPass { try await authorize() }
        var overtakings = Self.overtakings
        var recoveries: Set<AuthorizationMachine.Refusal> = []
        while true {
            if Task.isCancelled { throw PydioError.cancelled }
            let (pass, requestPass) = authorization.pass()
            let response = try await connection.send(request, as: requestPass, onProgress: onProgress)
            authorization.take(response, of: pass)
            let refusal: AuthorizationMachine.Refusal
            let refused: PydioError
            switch recogniser.read(response, secrets: authorization.secrets + request.secrets) {
            case .value(let value): return value
            case .unexpected(let error): throw error
            case .notAuthorized:
                refusal = .notAuthorized
                refused = Self.notAuthorized(connection.server)
            case .serverError(let error):
                guard pass.keystoreToken == nil, isTokenRefusal(error) else { throw error }
                (refusal, refused) = (.token, error)
            }
            if !recoveries.insert(refusal).inserted {
                guard authorization.isOvertaken(pass), overtakings > 0 else { throw refused }
                overtakings -= 1
            }
            try await authorize { try await $0.recover(pass, refusal) }
        }
    }

    func authorize() async throws { try await authorize { try await $0.authorize() } }

    /// Runs an authorization, which the client's state shows.
    private func authorize(_ body: (AuthorizationClient) async throws -> Void) async throws {
        report.set(.authorization)
        try await body(authorization)
        report.set(.operation)
    }

    private func isTokenRefusal(_ error: PydioError) -> Bool {
        error.serverMessage.map { options.tokenRefusals.contains($0) } ?? false
    }

    private static func notAuthorized(_ server: ServerAddress) -> PydioError {
        PydioError(
            .requireAuthorization, "\(server.host) says \"not authorized\" again after a login; nothing was done")
    }
}
