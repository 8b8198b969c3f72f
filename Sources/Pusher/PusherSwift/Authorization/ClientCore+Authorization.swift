import Basics
import CurlTransport
import Foundation
import FoundationNetworking
import PusherProtocol
import Transport

/// Gets the signature for a channel by the application's method (Pusher protocol, "Authorizing users").
extension ClientCore {
    @NetworkActor
    func authorize(_ request: AuthRequest) {
        let (socketID, channel) = (request.socketID.string, request.channel.string)
        switch options.authMethod {
        case .endpoint(let endpoint):
            work(on: [request.id]) { core in
                let fields = [("socket_id", socketID), ("channel_name", channel)]
                core.answer(request, await core.ask(endpoint, fields, AuthAnswer.init(body:)))
            }
        case .authRequestBuilder(let builder):
            runCallback { self.authorize(request, with: builder) }
        case .authorizer(let authorizer):
            runCallback {
                authorizer.fetchAuthValue(socketID: socketID, channelName: channel) {
                    self.answer(
                        request,
                        $0.map { .success(AuthAnswer($0)) }
                            ?? .failure(AuthFailure("the authorizer answered nil")))
                }
            }
        case .provider(let provide):
            work(on: [request.id]) { core in
                core.answer(
                    request,
                    await core.result(of: "the auth provider") { AuthAnswer(try await provide(socketID, channel)) })
            }
        case .batch: batch.add(request)  // until all requests of this batch have arrived
        case .inline(let secret):
            signInline(request, secret: secret)
        case .noMethod:
            answer(request, .failure(AuthFailure("the client has no auth method")))
        }
    }

    private func answer(_ request: AuthRequest, _ answer: Result<AuthAnswer, AuthFailure>) {
        NetworkActor.execute { self.authorizations[request.id] = nil }
        perform { machine, now in machine.authAnswered(request.id, answer, now: now) }
    }

    /// Runs `body` until it ends or its result is no longer needed.
    @NetworkActor
    func work(on requests: [AuthRequestID], _ body: @escaping @Sendable (ClientCore) async -> Void) {
        let awaited = read { machine in requests.filter { machine.isAwaited($0) } }
        guard !awaited.isEmpty else { return }
        let work = AuthorizationWork { [weak self] in
            if let self { await body(self) }
        }
        for request in awaited { authorizations[request] = work }
    }

    // MARK: Batches

    /// Sends the collected requests, within the limit on calls.
    @NetworkActor
    func authorizeBatch() {
        guard case .batch(let authorizer) = options.authMethod else { return }
        while let requests = batch.begin(
            maximumCalls: max(options.maximumAuthRequests, 1),
            maximumChannels: max(options.maximumChannelsPerAuthRequest, 1))
        {
            authorize(requests, with: authorizer)
        }
    }

    @NetworkActor
    private func authorize(_ requests: [AuthRequest], with authorizer: any BatchAuthorizer) {
        guard let socketID = requests.first?.socketID.string else { return }
        let channels = requests.map(\.channel.string)
        let call = BatchCall { [weak self] in
            self?.batch.end()
            self?.authorizeBatch()
        }
        work(on: requests.map(\.id)) { core in
            let answers = await core.result(of: "the batch authorizer") {
                try await authorizer.authorize(socketID: socketID, channelNames: channels)
            }
            core.answer(requests, answers)
            withExtendedLifetime(call) {}
        }
    }

    /// A running call, which ends when this object is released.
    private final class BatchCall: Sendable {
        private let onEnd: @Sendable @NetworkActor () -> Void

        init(_ onEnd: @escaping @Sendable @NetworkActor () -> Void) {
            self.onEnd = onEnd
        }

        deinit {
            NetworkActor.execute(onEnd)
        }
    }

    private func answer(_ requests: [AuthRequest], _ answers: Result<[String: PusherAuth], AuthFailure>) {
        NetworkActor.execute { for request in requests { self.authorizations[request.id] = nil } }
        perform { machine, now in
            for request in requests {
                let answer = answers.flatMap { answers in
                    answers[request.channel.string].map { .success(AuthAnswer($0)) }
                        ?? .failure(AuthFailure("the batch authorizer's answer does not have it"))
                }
                machine.authAnswered(request.id, answer, now: now)
            }
        }
    }

    // MARK: Endpoint and request builder

    /// Sends the fields, including those that the application adds, to an endpoint of the application's server.
    func ask<Answer: Sendable>(
        _ endpoint: String, _ fields: [(String, String)], _ parse: ([UInt8]) throws(AuthFailure) -> Answer
    ) async -> Result<Answer, AuthFailure> {
        let headers = await result(of: "the provider of auth headers") { try await options.authHeaders?() ?? [:] }
        let parameters = await result(of: "the provider of auth parameters") {
            try await options.authParameters?() ?? [:]
        }
        do throws(AuthFailure) {
            let request = HTTPRequest(
                authEndpoint: endpoint,
                fields: fields + (try parameters.get()).sorted { $0.key < $1.key }.map { ($0, $1) },
                headers: try headers.get(), options: options)
            return await send(request, parse)
        } catch {
            return .failure(error)
        }
    }

    private func send<Answer: Sendable>(
        _ request: HTTPRequest, _ parse: ([UInt8]) throws(AuthFailure) -> Answer
    ) async -> Result<Answer, AuthFailure> {
        var request = request
        request.isSafeToRepeat = true  // it changes nothing
        // The fault that broke the connection may also have broken those to the endpoint.
        request.usesConnectionsSince = read { $0.steps.startedAt }
        do throws(TransportError) {
            return Self.read(try await HTTPClient.send(request, options: options.network(for: request.url)), parse)
        } catch {
            return .failure(
                AuthFailure(
                    "the auth endpoint could not be asked: \(error.message)",
                    kind: error.code == .invalidRequest ? .unusable : .temporary))
        }
    }

    private func authorize(_ request: AuthRequest, with builder: any AuthRequestBuilderProtocol) {
        guard
            let urlRequest = builder.requestFor(
                socketID: request.socketID.string, channelName: request.channel.string)
        else {
            return answer(request, .failure(AuthFailure("the request builder answered nil")))
        }
        guard let httpRequest = HTTPRequest(urlRequest, options: options) else {
            return answer(request, .failure(AuthFailure("the request builder's request has no URL")))
        }
        NetworkActor.execute {
            self.work(on: [request.id]) { core in
                core.answer(request, await core.send(httpRequest, AuthAnswer.init(body:)))
            }
        }
    }

    private static func read<Answer>(
        _ response: HTTPResponse, _ parse: ([UInt8]) throws(AuthFailure) -> Answer
    ) -> Result<Answer, AuthFailure> {
        guard response.status == 200 || response.status == 201 else {
            let redirect = (300..<400).contains(response.status) ? ", and redirects are not followed" : ""
            return .failure(
                AuthFailure(
                    "the auth endpoint answered \(response.status)\(redirect)", status: response.status,
                    body: String(decoding: response.body, as: UTF8.self),
                    kind: .init(status: response.status)))
        }
        return Result { () throws(AuthFailure) in try parse(response.body) }.mapError { failure in
            AuthFailure(
                "the auth endpoint is wrong: \(failure.reason)", status: response.status,
                body: String(decoding: response.body, as: UTF8.self), kind: failure.kind)
        }
    }

    // MARK: Inline

    @NetworkActor
    private func signInline(_ request: AuthRequest, secret: String) {
        let credentials = AppCredentials(key: key, secret: secret)
        guard request.channel.kind == .presence else {
            let auth = credentials.channelAuth(socketID: request.socketID, channel: request.channel)
            guard request.channel.kind == .encrypted else { return answer(request, .success(AuthAnswer(auth: auth))) }
            guard let masterKey = options.encryptionMasterKey.flatMap({ EncryptionMasterKey(base64: $0) }) else {
                return answer(
                    request, .failure(AuthFailure("encryptionMasterKey is not set, or not base64 of 32 bytes")))
            }
            let sharedSecret = masterKey.key(of: request.channel).base64
            return answer(request, .success(AuthAnswer(auth: auth, sharedSecret: sharedSecret)))
        }
        runCallback {
            let fetcher = self.callbacks.withLock { $0.userDataFetcher }
            let member = fetcher?() ?? PusherPresenceChannelMember(userId: request.socketID.string)
            guard let channelData = member.channelData else {
                return self.answer(request, .failure(AuthFailure("the member's userInfo cannot be written as JSON")))
            }
            let auth = credentials.channelAuth(
                socketID: request.socketID, channel: request.channel, channelData: channelData)
            self.answer(request, .success(AuthAnswer(auth: auth, channelData: channelData)))
        }
    }

    // MARK: Signing in

    @NetworkActor
    func authorizeUser(_ request: AuthRequestID, socketID: SocketID) {
        switch options.userAuthMethod {
        case .endpoint(let endpoint):
            work(on: [request]) { core in
                let fields = [("socket_id", socketID.string)]
                core.answerUser(request, await core.ask(endpoint, fields, UserAuthAnswer.init(body:)))
            }
        case .provider(let provide):
            work(on: [request]) { core in
                let answer = await core.result(of: "the user auth provider") {
                    UserAuthAnswer(try await provide(socketID.string))
                }
                core.answerUser(request, answer)
            }
        case .inline(let secret, let user):
            guard let userData = user.text else {
                return answerUser(request, .failure(AuthFailure("the user's userInfo cannot be written as JSON")))
            }
            let auth = AppCredentials(key: key, secret: secret).userAuth(socketID: socketID, userData: userData)
            answerUser(request, .success(UserAuthAnswer(auth: auth, userData: userData)))
        case .noMethod:
            answerUser(request, .failure(AuthFailure("the client has no userAuthMethod")))
        }
    }

    private func answerUser(_ request: AuthRequestID, _ answer: Result<UserAuthAnswer, AuthFailure>) {
        NetworkActor.execute { self.authorizations[request] = nil }
        perform { machine, now in machine.userAuthAnswered(request, answer, now: now) }
    }

    // MARK: Application code

    /// Returns the result of the application's closure. Reports only the type of the application's own errors, which
    /// may hold anything. Does not call the closure once the result is no longer needed or the client is gone.
    private func result<Value>(
        of what: String, _ body: () async throws -> Value
    ) async -> Result<Value, AuthFailure> {
        guard !Task.isCancelled, !isShutDown else {
            return .failure(AuthFailure("\(what) was not asked: nobody waits for it any more"))
        }
        do {
            return .success(try await body())
        } catch let error as PusherTemporaryFailure {
            return .failure(AuthFailure("\(what) failed: \(error.message)", kind: .temporary))
        } catch let error as PusherError {
            return .failure(AuthFailure("\(what) failed: \(error.message)"))
        } catch {
            return .failure(AuthFailure("\(what) failed with \(type(of: error))"))
        }
    }
}

extension AuthAnswer {
    init(_ auth: PusherAuth) {
        self.init(auth: auth.auth, channelData: auth.channelData, sharedSecret: auth.sharedSecret)
    }
}

extension UserAuthAnswer {
    fileprivate init(_ auth: PusherUserAuth) {
        self.init(auth: auth.auth, userData: auth.userData)
    }
}

extension HTTPRequest {
    fileprivate init(
        authEndpoint: String, fields: [(String, String)], headers: [String: String], options: PusherClientOptions
    ) {
        let form = fields.map { "\($0.percentEncoded)=\($1.percentEncoded)" }.joined(separator: "&")
        var httpFields: HTTPFields = [
            "Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json",
        ]
        for (name, value) in headers { httpFields[name] = value }
        self.init(
            method: "POST", url: authEndpoint, fields: httpFields, body: Array(form.utf8), timeout: options.authTimeout,
            maximumBodySize: options.maximumAuthAnswerSize, bodySizeOption: "maximumAuthAnswerSize")
    }

    /// Returns `nil` if the request has no URL.
    fileprivate init?(_ request: URLRequest, options: PusherClientOptions) {
        guard let url = request.url?.absoluteString else { return nil }
        var fields = HTTPFields()
        for (name, value) in request.allHTTPHeaderFields ?? [:] { fields.append(name: name, value: value) }
        self.init(
            method: request.httpMethod ?? "GET", url: url, fields: fields, body: Array(request.httpBody ?? Data()),
            timeout: min(options.authTimeout, request.timeout ?? options.authTimeout),
            maximumBodySize: options.maximumAuthAnswerSize, bodySizeOption: "maximumAuthAnswerSize")
    }
}

extension URLRequest {
    /// The timeout; `nil` if there is none. Foundation lets programs set zero for that, and some set infinity.
    fileprivate var timeout: Duration? {
        timeoutInterval > 0 ? Duration.bounded(seconds: timeoutInterval) : nil
    }
}
