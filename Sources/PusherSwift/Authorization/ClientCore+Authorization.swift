import CurlTransport
import Foundation
import PusherProtocol
import Transport

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Gets the signature for a channel in the way that the application chose (Pusher protocol, "Authorizing users").
extension ClientCore {
    @NetworkActor
    func authorize(_ request: AuthRequest) {
        switch options.authMethod {
        case .endpoint(let endpoint):
            ask(HTTPRequest(authEndpoint: endpoint, for: request, timeout: options.authTimeout), request)
        case .authRequestBuilder(let builder):
            runCallback { self.authorize(request, with: builder) }
        case .authorizer(let authorizer):
            runCallback {
                authorizer.fetchAuthValue(socketID: request.socketID.string, channelName: request.channel.string) {
                    self.answer(
                        request,
                        $0.map { .success(AuthAnswer($0)) }
                            ?? .failure(AuthFailure("the authorizer answered nil")))
                }
            }
        case .inline(let secret):
            signInline(request, secret: secret)
        case .noMethod:
            answer(request, .failure(AuthFailure("the client has no auth method")))
        }
    }

    private func answer(_ request: AuthRequest, _ answer: Result<AuthAnswer, AuthFailure>) {
        perform { machine, now in machine.authAnswered(request.id, answer, now: now) }
    }

    // MARK: Endpoint and request builder

    @NetworkActor
    private func ask(_ httpRequest: HTTPRequest, _ request: AuthRequest) {
        let task = HTTPClient.start(httpRequest, options: options.network) { [weak self] result in
            self?.authorizations[request.id] = nil
            self?.answer(request, Self.answer(from: result))
        }
        authorizations[request.id] = task
    }

    private func authorize(_ request: AuthRequest, with builder: any AuthRequestBuilderProtocol) {
        guard
            let urlRequest = builder.requestFor(
                socketID: request.socketID.string, channelName: request.channel.string)
        else {
            return answer(request, .failure(AuthFailure("the request builder answered nil")))
        }
        guard let httpRequest = HTTPRequest(urlRequest, timeout: options.authTimeout) else {
            return answer(request, .failure(AuthFailure("the request builder's request has no URL")))
        }
        NetworkActor.execute { self.ask(httpRequest, request) }
    }

    private static func answer(from result: Result<HTTPResponse, TransportError>) -> Result<AuthAnswer, AuthFailure> {
        switch result {
        case .failure(let error):
            return .failure(AuthFailure("the auth endpoint could not be asked: \(error.message)"))
        case .success(let response) where response.status != 200 && response.status != 201:
            let redirect = (300..<400).contains(response.status) ? ", and redirects are not followed" : ""
            return .failure(
                AuthFailure(
                    "the auth endpoint answered \(response.status)\(redirect)", status: response.status,
                    body: String(decoding: response.body, as: UTF8.self)))
        case .success(let response):
            return Result { () throws(AuthFailure) in try AuthAnswer(body: response.body) }.mapError { failure in
                AuthFailure(
                    "the auth endpoint is wrong: \(failure.reason)", status: response.status,
                    body: String(decoding: response.body, as: UTF8.self))
            }
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
            let fetcher = self.bindings.withLock { $0.userDataFetcher }
            let member = fetcher?() ?? PusherPresenceChannelMember(userId: request.socketID.string)
            guard let channelData = member.channelData else {
                return self.answer(request, .failure(AuthFailure("the member's userInfo cannot be written as JSON")))
            }
            let auth = credentials.channelAuth(
                socketID: request.socketID, channel: request.channel, channelData: channelData)
            self.answer(request, .success(AuthAnswer(auth: auth, channelData: channelData)))
        }
    }
}

extension AuthAnswer {
    init(_ auth: PusherAuth) {
        self.init(auth: auth.auth, channelData: auth.channelData, sharedSecret: auth.sharedSecret)
    }
}

extension HTTPRequest {
    fileprivate init(authEndpoint: String, for request: AuthRequest, timeout: Duration) {
        let form =
            "socket_id=\(request.socketID.string.percentEncoded)"
            + "&channel_name=\(request.channel.string.percentEncoded)"
        self.init(
            method: "POST", url: authEndpoint,
            fields: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
            body: Array(form.utf8), timeout: timeout, maximumBodySize: Self.maximumAuthBodySize)
    }

    /// Nil if the request has no URL.
    fileprivate init?(_ request: URLRequest, timeout: Duration) {
        guard let url = request.url?.absoluteString else { return nil }
        var fields = HTTPFields()
        for (name, value) in request.allHTTPHeaderFields ?? [:] { fields.append(name: name, value: value) }
        self.init(
            method: request.httpMethod ?? "GET", url: url, fields: fields, body: Array(request.httpBody ?? Data()),
            timeout: min(timeout, .seconds(request.timeoutInterval)), maximumBodySize: Self.maximumAuthBodySize)
    }

    private static let maximumAuthBodySize = 1 << 20
}
