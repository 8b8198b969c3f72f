import Basics
import CurlTransport
import PusherProtocol
import Realtime

/// The application's server, which signs.
extension PusherSimulation {
    func authorize(_ request: AuthRequest) {
        statistics.count(.authRequests)
        let channel = request.channel
        guard !schedule.options.signsInline else {
            let answer = signature(request.socketID, channel, isComplete: true)
            return handle { machine, now in machine.authAnswered(request.id, .success(answer), now: now) }
        }
        authorizations.insert(request.id)
        check(
            authorizations.count <= schedule.options.configuration.maximumAuthRequests + 1,  // one more for the user
            "\(authorizations.count) authorizations are under way")
        var socketID = request.socketID
        if case .forOldSocket = authBehaviour, let old = server.oldSockets.first { socketID = old }
        let isComplete = if case .noChannelData = authBehaviour { false } else { true }
        answer(.success(signature(socketID, channel, isComplete: isComplete))) { [unowned self] in
            authAnswered(request.id, $0)
        }
    }

    private func signature(_ socketID: SocketID, _ channel: ChannelName, isComplete: Bool) -> AuthAnswer {
        let data = channel.kind == .presence && isComplete ? #"{"user_id":"me"}"# : nil
        return AuthAnswer(
            auth: PusherServer.credentials.channelAuth(socketID: socketID, channel: channel, channelData: data),
            channelData: data,
            sharedSecret: channel.kind == .encrypted ? server.key(of: channel.string)?.base64 : nil)
    }

    func authorizeUser(_ id: AuthRequestID, _ socketID: SocketID) {
        statistics.count(.signInRequests)
        let userData = PusherServer.userData
        let auth = PusherServer.credentials.userAuth(socketID: socketID, userData: userData)
        guard !schedule.options.signsInline else {
            let answer = UserAuthAnswer(auth: auth, userData: userData)
            return handle { machine, now in machine.userAuthAnswered(id, .success(answer), now: now) }
        }
        authorizations.insert(id)
        answer(.success(UserAuthAnswer(auth: auth, userData: userData))) { [unowned self] in
            userAuthAnswered(id, $0)
        }
    }

    /// Answers according to the endpoint's current behavior.
    private func answer<Answer: Sendable>(
        _ answer: Result<Answer, AuthFailure>,
        _ give: @escaping @Sendable @NetworkActor (Result<Answer, AuthFailure>) -> Void
    ) {
        statistics.count(authBehaviour)
        switch authBehaviour {
        case .normal, .forOldSocket, .noChannelData: after(random.seconds(0.001...0.3)) { give(answer) }
        case .slow: after(random.seconds(1...20)) { give(answer) }
        case .late: after(random.seconds(25...70)) { give(answer) }
        case .lost: break
        case .forbidden:
            after(random.seconds(0.001...0.3)) { give(.failure(AuthFailure("the endpoint answered 403", status: 403))) }
        case .temporaryFailure:
            after(
                random.seconds(0.001...0.3)
            ) { give(.failure(AuthFailure("the endpoint answered 503", status: 503, kind: .temporary))) }
        case .twice:
            after(random.seconds(0.001...0.3)) { give(answer) }
            after(random.seconds(0.1...5)) { give(answer) }
        }
    }

    func authAnswered(_ request: AuthRequestID, _ answer: Result<AuthAnswer, AuthFailure>) {
        guard mayAnswer(request) else { return }
        call { $0.authAnswered(request, answer, now: $1) }
    }

    func userAuthAnswered(_ request: AuthRequestID, _ answer: Result<UserAuthAnswer, AuthFailure>) {
        guard mayAnswer(request) else { return }
        call { $0.userAuthAnswered(request, answer, now: $1) }
    }

    private func mayAnswer(_ request: AuthRequestID) -> Bool {
        authorizations.remove(request) != nil || schedule.options.authAnswersInSpiteOfCancel || authBehaviour == .twice
    }
}
