package import Basics
import JSONBytes
import Realtime
import Transport

/// Signing in, events to the signed-in user, and the watchlist (Pusher protocol, "User authentication").
extension ClientMachine {
    // MARK: Calls from the application

    /// Signs in, now or after the next handshake, and on every later connection. Retries a sign-in that failed.
    package mutating func signIn(now: MonotonicInstant) {
        user.isWanted = true
        switch user.state {
        case .out, .failed: startSignIn(now: now)
        case .authorizing, .retrying, .signingIn, .signedIn: break
        }
    }

    package var signedInUser: SignedInUser? { user.signedIn }

    package var onlineUsers: [String] { user.online.ids.map(\.string) }

    package func isOnline(_ userID: String) -> Bool { user.online.ids.contains(ByteKey(userID)) }

    /// Whether the client is signed in or signing in on this connection.
    package var isSigningIn: Bool { user.isOnItsWay || user.signedIn != nil }

    /// The reason why the client is neither signed in nor signing in; `nil` if it is.
    package var signInFailure: PusherError? { user.isFailed ? user.failure : nil }

    /// Handles the answer of the application's server, or the failure to reach it.
    package mutating func userAuthAnswered(
        _ request: AuthRequestID, _ answer: Result<UserAuthAnswer, AuthFailure>, now: MonotonicInstant
    ) {
        guard case .authorizing(request, _) = user.state else { return }  // no longer wanted
        switch answer {
        case .success(let answer):
            if let failure = answer.failure { return signInFailed(failure, now: now) }
            user.state = .signingIn(deadline: now + configuration.subscriptionTimeout)
            signedRequests.sent(.signIn)
            send(.signIn(auth: answer.auth, userData: answer.userData))
        case .failure(let failure)
        where failure.kind == .temporary && user.authRetries < configuration.maximumAuthRetries:
            user.authRetries += 1
            user.state = .retrying(at: now + configuration.authRetryDelay)
            report(
                PusherError(
                    .authorizationFailed, code: failure.status, "signing in failed: \(failure.reason)", willRetry: true,
                    retryAfter: configuration.authRetryDelay, isUnanswered: true))
        case .failure(let failure): signInFailed(failure, now: now)
        }
    }

    // MARK: Steps to sign in

    mutating func startSignIn(now: MonotonicInstant) {
        guard user.isWanted, socketID != nil else { return }  // starts after the handshake
        user.authRetries = 0
        authorizeUser(now: now)
    }

    private mutating func authorizeUser(now: MonotonicInstant) {
        guard let socketID else { return }
        let request = authorizations.makeID()
        user.state = .authorizing(request, deadline: now + configuration.authTimeout)
        actions.append(.authorizeUser(request, socketID))
    }

    /// - Parameter signedIn: `nil` if the server's answer does not name the user.
    mutating func signedIn(_ signedIn: SignedInUser?, now: MonotonicInstant) {
        signedRequests.answered(.signIn)
        switch user.state {
        case .signingIn, .failed(mayBeSignedIn: true): break
        case .out, .authorizing, .retrying, .signedIn, .failed(mayBeSignedIn: false):
            return  // an answer without a request
        }
        guard let signedIn else {
            return signInFailed(.malformedMessage, "the server signed in a user without an id", now: now)
        }
        user.state = .signedIn(signedIn)
        notices.append(.signedIn(signedIn))
        subscribeToUser(signedIn, now: now)
        joinWaitingChannels(now: now)
    }

    /// Subscribes to the channel for events to this user, which needs no signature.
    private mutating func subscribeToUser(_ user: SignedInUser, now: MonotonicInstant) {
        guard let name = try? ChannelName(ChannelName.serverToUserPrefix + user.id) else {
            return report(
                PusherError(.malformedMessage, "events to the signed-in user do not come: the id makes no channel name")
            )
        }
        entries[ByteKey(name.string)] = Entry(id: .user, name: name)
        channels[.user] = ChannelMachine(name: name, id: .user, givenAuth: nil)
        startSubscription(.user, now: now)
    }

    /// - Parameter mayBeSubscribed: The server has not refused it, so a late success counts.
    mutating func userChannelFailed(_ id: EventRouter.ChannelID, reason: String, mayBeSubscribed: Bool = false) {
        guard let channel = channels[id] else { return }
        if mayBeSubscribed {
            channels[id]?.state = .failed(mayBeSubscribed: true)
        } else {
            forget(id, ByteKey(channel.name.string))
        }
        report(
            PusherError(
                .subscriptionFailed, "events to the signed-in user do not come: \(reason.prefix(200))",
                channelName: channel.name.string))
    }

    /// Joins the presence channels whose authorization leaves the user to the sign-in.
    private mutating func joinWaitingChannels(now: MonotonicInstant) {
        for (id, channel) in channels.sorted(by: { $0.key < $1.key }) {
            if case .awaitingUser(let answer) = channel.state { joinAsUser(answer, id, now: now) }
        }
    }

    // MARK: Failures

    /// - Parameter reason: The reason in a `pusher:error` that refuses the connection while a sign-in is pending.
    mutating func signInRefused(reason: String, now: MonotonicInstant) {
        signedRequests.answered(.signIn)
        guard case .signingIn = user.state else { return }
        signInFailed(.subscriptionFailed, "the server refused the sign-in: \(reason.prefix(200))", now: now)
    }

    private mutating func signInFailed(_ failure: AuthFailure, now: MonotonicInstant) {
        signInFailed(
            .authorizationFailed, "signing in failed: \(failure.reason)", status: failure.status, type: "AuthError",
            isUnanswered: failure.kind != .refused, now: now)
    }

    private mutating func signInFailed(
        _ kind: PusherError.Kind, _ message: String, status: Int? = nil, type: String = "SignInError",
        mayBeSignedIn: Bool = false, isUnanswered: Bool = false, now: MonotonicInstant
    ) {
        user.state = .failed(mayBeSignedIn: mayBeSignedIn)
        let error = PusherError(kind, code: status, message, isUnanswered: isUnanswered)
        user.failure = error
        let code = status.map { #","status":\#($0)"# } ?? ""
        let event = RealtimeEvent(
            name: "pusher:signin_error", channel: nil,
            data: #"{"type":"\#(type)","error":\#(JSONString.quoted(error.message))\#(code)}"#)
        notices.append(.signInFailed(error, event: event))
        joinWaitingChannels(now: now)
    }

    mutating func signInTimePassed(now: MonotonicInstant) {
        guard let deadline = user.deadline(isReadingPaused: isReadingPaused), deadline <= now else { return }
        switch user.state {
        case .authorizing(let request, _):
            actions.append(.cancelAuthorization(request))
            userAuthAnswered(request, .failure(.noAnswerInTime), now: now)
        case .retrying: authorizeUser(now: now)
        case .signingIn:
            signInFailed(
                .subscriptionFailed, "the server did not answer the sign-in in time", mayBeSignedIn: true,
                isUnanswered: true, now: now)
        case .out, .signedIn, .failed: break
        }
    }

    mutating func restartSignInDeadline(now: MonotonicInstant) {
        if case .signingIn = user.state { user.state = .signingIn(deadline: now + configuration.subscriptionTimeout) }
    }

    // MARK: Watchlist

    mutating func watchlistChanged(_ changes: [WatchlistChange]) {
        for change in changes {
            switch change.name {
            case "online":
                if !user.online.insert(change.userIDs) {
                    report(
                        PusherError(
                            .malformedMessage,
                            "the watchlist is too long: users beyond \(OnlineUsers.maximumBytes) bytes of ids are not listed"
                        ))
                }
            case "offline": user.online.remove(change.userIDs)
            default: break  // from a later version of the protocol
            }
            if change.withoutID > 0 {
                report(
                    PusherError(
                        .malformedMessage,
                        "entries of the watchlist without a user id were left out: \(change.withoutID)"))
            }
            notices.append(.watchlistChanged(change))
        }
    }

    /// Resets the sign-in and the user's channel after the connection is lost.
    mutating func forgetUser() {
        if case .authorizing(let request, _) = user.state { actions.append(.cancelAuthorization(request)) }
        user.state = .out
        user.online = OnlineUsers()
        if let channel = channels[.user] { forget(.user, ByteKey(channel.name.string)) }
    }
}
