package import Basics
import Realtime

/// Requests to the application's server for signatures: few at a time, each for one connection.
extension ClientMachine {
    mutating func authorizeWaiting(now: MonotonicInstant) {
        while authorizations.underWayCount < configuration.maximumAuthRequests, let socketID,
            let id = authorizations.popWaiting()
        {
            guard let channel = channels[id], channel.state == .queued || channel.keyRequest == .queued else {
                continue  // left meanwhile
            }
            let request = authorizations.begin(for: id, deadline: now + configuration.authTimeout)
            if channel.state == .queued {
                channels[id]?.state = .authorizing(request)
            } else {
                channels[id]?.keyRequest = .underWay(request)
            }
            actions.append(.authorize(AuthRequest(id: request, channel: channel.name, socketID: socketID)))
        }
    }

    /// Returns whether the answer to a request is still needed.
    package func isAwaited(_ request: AuthRequestID) -> Bool {
        if case .authorizing(request, _) = user.state { return true }
        return authorizations.isUnderWay(request)
    }

    // MARK: Answers

    /// Handles the answer of the application's server, or the failure to reach it.
    package mutating func authAnswered(
        _ request: AuthRequestID, _ answer: Result<AuthAnswer, AuthFailure>, now: MonotonicInstant
    ) {
        guard let id = authorizations.end(request), let channel = channels[id] else { return }
        if channel.keyRequest == .underWay(request) {
            keyAnswered(id, answer, now: now)
        } else if channel.state == .authorizing(request) {
            switch answer {
            case .success(let answer): useAnswer(answer, for: id, now: now)
            case .failure(let failure)
            where failure.kind == .temporary && channel.authRetries < configuration.maximumAuthRetries:
                retryAuthorization(of: id, failure, now: now)
            case .failure(let failure): authorizationFailed(id, failure)
            }
        } else {
            return  // no longer wanted
        }
        authorizeWaiting(now: now)
    }

    mutating func useAnswer(_ answer: AuthAnswer, for id: EventRouter.ChannelID, now: MonotonicInstant) {
        guard let channel = channels[id] else { return }
        if let failure = answer.failure(for: channel.name) {
            authorizationFailed(id, failure)
        } else if channel.name.kind == .presence, answer.channelData == nil {
            joinAsUser(answer, id, now: now)
        } else {
            let myID = PresenceMembers.Member(data: answer.channelData)?.userID
            sendSubscription(id, answer, myID: myID, now: now)
        }
    }

    /// Joins a presence channel as the signed-in user. The application's server omits the user if the connection is
    /// signed in.
    mutating func joinAsUser(_ answer: AuthAnswer, _ id: EventRouter.ChannelID, now: MonotonicInstant) {
        if let signedIn = user.signedIn {
            sendSubscription(id, answer, myID: signedIn.id, now: now)
        } else if user.isOnItsWay {
            channels[id]?.state = .awaitingUser(answer)
        } else {
            authorizationFailed(
                id,
                AuthFailure(
                    "its answer has no channel_data, which a presence channel needs unless signed in", kind: .unusable))
        }
    }

    private mutating func authorizationFailed(_ id: EventRouter.ChannelID, _ failure: AuthFailure) {
        guard let channel = channels[id] else { return }
        channels[id]?.state = .failed(mayBeSubscribed: false)
        let error = PusherError(
            .authorizationFailed, code: failure.status, "authorization failed: \(failure.reason)",
            channelName: channel.name.string, isUnanswered: failure.kind != .refused)
        dropSealed(on: id)
        notifyFailure(id, error, failure, type: "AuthError")
    }

    private mutating func retryAuthorization(
        of id: EventRouter.ChannelID, _ failure: AuthFailure, now: MonotonicInstant
    ) {
        guard let channel = channels[id] else { return }
        channels[id]?.state = .retrying
        channels[id]?.authRetries += 1
        authRetries.set(now + configuration.authRetryDelay, for: id)
        report(
            PusherError(
                .authorizationFailed, code: failure.status, "authorization failed: \(failure.reason)",
                channelName: channel.name.string, willRetry: true, retryAfter: configuration.authRetryDelay,
                isUnanswered: true))
    }

    // MARK: Time

    mutating func expireAuthorizations(now: MonotonicInstant) {
        while let request = authorizations.popOverdue(now: now) {
            actions.append(.cancelAuthorization(request))
            authAnswered(request, .failure(AuthFailure.noAnswerInTime), now: now)
        }
    }

    mutating func retryAuthorizations(now: MonotonicInstant) {
        while let (_, id) = authRetries.popDue(now: now) {
            guard channels[id]?.state == .retrying else { continue }  // left meanwhile
            channels[id]?.state = .queued
            authorizations.enqueue(id)
        }
        authorizeWaiting(now: now)
    }
}
