package import Basics
package import Transport

/// The authorization of all calls for one server and user, as a value (section 4).
///
/// A call is sent with a ``Pass``. The first call that the server refuses starts an attempt, and all others wait for
/// it; a call with an older pass than the current one is simply resent. If the attempt fails, so do all calls that were
/// sent before: many calls with a wrong password must not cause as many logins. An attempt is a series of requests:
///
///     not authorized ── ping ── get_seed ─┬─ keystore (seed −1) ─┬─ done
///                                         └──────── login ───────┘
///     token refused ─── get_secure_token ── done
///     no password ───── login by the cookie of a remembered one ── done
///
/// A login that fails with an error takes the second row once, and starts over without cookies once.
package struct AuthorizationMachine: Sendable, Confidential {
    /// The authorization that a call is sent with.
    package struct Pass: Hashable, Sendable, Confidential {
        /// The generation of the authorization that it comes from.
        package let generation: Int
        package let secureToken: String?
        /// The key pair; `nil` if the session authorizes the call.
        package let keystoreToken: KeystoreToken?
        /// The number of failed attempts when the pass was issued.
        let failures: Int

        package var description: String { "pass \(generation)" }
    }

    /// The reason why the server refused a call.
    package enum Refusal: Hashable, Sendable {
        case notAuthorized
        case token
    }

    /// One request of an attempt.
    package enum Step: Hashable, Sendable, CustomStringConvertible {
        case ping
        case getSeed
        case login
        case rememberedLogin
        case getSecureToken
        case keystore

        package var description: String {
            switch self {
            case .ping: "ping"
            case .getSeed: "get_seed"
            case .login: "login"
            case .rememberedLogin: "login by cookie"
            case .getSecureToken: "get_secure_token"
            case .keystore: "keystore"
            }
        }
    }

    package enum CallAction: Equatable, Sendable {
        /// Resend the call with the current pass.
        case retry
        /// Wait for the current attempt.
        case wait
        /// Wait for the current attempt, after making its first request.
        case begin(Order)
        case fail(PydioError)
    }

    /// A request to make for an attempt.
    package struct Order: Hashable, Sendable, CustomStringConvertible {
        package let attempt: Int
        package let step: Step

        package var description: String { "\(step)" }
    }

    package enum Progress: Equatable, Sendable {
        case send(Order)
        /// The attempt is over; waiters continue.
        case done
        case failed(PydioError)
        /// The order belonged to an attempt that no longer counts.
        case none
    }

    struct Attempt: Sendable {
        var id: Int
        var step: Step
        let kind: PydioAuthentication
        var captcha: String?
        /// Whether a call's token was refused, so that a new token is enough.
        var isForToken = false
        /// Whether a token was requested in this attempt.
        var hasAskedForToken = false
        /// Whether cookies and token were discarded in this attempt.
        var isAnew = false
        /// Whether a key pair was requested in this attempt.
        var hasAskedForPair = false
        /// Whether to retry a refused login once.
        var mayRepeat = false
    }

    /// The name under which the server stores the key pair.
    let deviceId: String
    package internal(set) var user: User?
    package internal(set) var secureToken: String?
    package internal(set) var seed: String?
    package internal(set) var keystoreToken: KeystoreToken?
    package internal(set) var cookies = CookieJar()
    /// A counter of changes of the pass.
    package internal(set) var generation = 0
    var attempt: Attempt?
    var nextAttempt = 1
    /// The number of failed attempts with the current user.
    var failures = 0
    var lastFailure: PydioError?
    /// Whether the server was asked for a key pair and has none.
    var hasNoPairs = false

    package init(deviceId: String) {
        self.deviceId = deviceId
    }

    package var description: String { "the authorisation of \(user?.userid ?? "nobody")" }

    /// The texts that no error may quote.
    package var secrets: [String] {
        [user?.password, secureToken, keystoreToken?.token, keystoreToken?.key].compactMap { $0 }
            + cookies.cookies(now: MonotonicInstant(nanoseconds: .min)).map(\.value)
    }

    /// The result of the last login, if it was refused.
    package var lastRefusal: PydioLoginResult? { lastFailure?.loginResult }

    package var isAuthorizing: Bool { attempt != nil }

    /// Returns the pass to send a call with now.
    package func pass(as kind: PydioAuthentication) -> Pass {
        let pair: KeystoreToken? =
            switch kind {
            case .automatic, .keystoreToken: keystoreToken
            case .session, .rememberedSession: nil
            }
        return Pass(
            generation: generation, secureToken: pair == nil ? secureToken : nil, keystoreToken: pair,
            failures: failures)
    }

    /// Returns the authorization of a request. The nonce must be new and contain no colon.
    package func requestPass(_ pass: Pass, nonce: String, now: MonotonicInstant) -> RequestPass {
        if let pair = pass.keystoreToken { return .signed(pair, nonce: nonce) }
        return .session(cookies: cookies.field(now: now), secureToken: pass.secureToken)
    }

    // MARK: Settings

    /// Sets the user. A different user does not get the previous session; the same user may have a new password.
    package mutating func setUser(_ user: User?) {
        let isOther = user.map { ByteKey($0.userid) } != self.user.map { ByteKey($0.userid) }
        self.user = user
        lastFailure = nil
        if isOther { forgetSession() }
    }

    /// Sets the user's new password, which the next login needs.
    package mutating func passwordChanged(to password: String) {
        guard let user else { return }
        self.user = User(userid: user.userid, password: password)
        lastFailure = nil
    }

    package mutating func setSecureToken(_ token: String?) {
        guard token != secureToken else { return }
        secureToken = token
        generation += 1
    }

    package mutating func setSeed(_ seed: String?) {
        self.seed = seed
    }

    package mutating func setKeystoreToken(_ token: KeystoreToken?) {
        guard token != keystoreToken else { return }
        keystoreToken = token
        generation += 1
    }

    package mutating func clearCookies() {
        cookies.removeAll()
        generation += 1
    }

    package mutating func setCookies(_ new: [PydioCookie]) {
        cookies.removeAll()
        for cookie in new { cookies.add(cookie) }
        generation += 1
    }

    /// Deletes cookies, token, seed and key pair. A current attempt no longer counts.
    package mutating func forgetSession() {
        cookies.removeAll()
        (secureToken, seed, keystoreToken, hasNoPairs) = (nil, nil, nil, false)
        attempt = nil
        generation += 1
    }

    /// Stores the cookies of an answer to a call. Of many calls without a session, each receives a different one;
    /// ignores those overtaken by an authorization.
    package mutating func take(
        _ fields: HTTPFields, of pass: Pass, from server: ServerAddress, now: MonotonicInstant, seconds: Int
    ) {
        guard attempt == nil, pass.generation == generation, pass.keystoreToken == nil else { return }
        cookies.take(fields, from: server, now: now, seconds: seconds)
    }

    /// Allows calls that repeat automatically to log in again.
    package mutating func forgetRefusal() { lastFailure = nil }

    // MARK: Calls

    /// Handles a call that the server has refused.
    ///
    /// - Parameter repeatsLogin: Whether to log in although the server has refused the last login. Calls that repeat
    ///   automatically must not: after a few of them, servers require a captcha.
    package mutating func refused(
        _ pass: Pass, _ refusal: Refusal, as kind: PydioAuthentication, repeatsLogin: Bool = true
    ) -> CallAction {
        // The refused pass is not the current one.
        guard pass.generation == generation else { return attempt == nil ? .retry : .wait }
        guard attempt == nil else { return .wait }
        if pass.failures < failures, let lastFailure { return .fail(lastFailure) }
        if !repeatsLogin, let lastFailure, lastFailure.isRefusedLogin { return .fail(lastFailure) }
        switch refusal {
        case .notAuthorized:
            return authorize(as: kind)
        case .token:
            return begin(.getSecureToken, kind) {
                $0.isForToken = true
                $0.hasAskedForToken = true
            }
        }
    }

    /// Starts an authorization, regardless of the current session.
    package mutating func authorize(as kind: PydioAuthentication) -> CallAction {
        guard attempt == nil else { return .wait }
        guard user != nil else {
            return isRemembered && kind != .keystoreToken ? begin(.rememberedLogin, kind) : .fail(Self.nobody)
        }
        // A refused key pair, or the only requested kind.
        if pass(as: kind).keystoreToken != nil || kind == .keystoreToken {
            return begin(.keystore, kind) { $0.hasAskedForPair = true }
        }
        return begin(.ping, kind)
    }

    /// Logs in with a solved captcha and the seed that came with it, without other requests (4.3).
    package mutating func login(captcha: String, as kind: PydioAuthentication) -> CallAction {
        guard attempt == nil else { return .wait }
        guard user != nil else { return .fail(Self.nobody) }
        guard seed != nil else { return begin(.ping, kind) { $0.captcha = captcha } }
        return begin(.login, kind) { $0.captcha = captcha }
    }

    private mutating func begin(
        _ step: Step, _ kind: PydioAuthentication, _ change: (inout Attempt) -> Void = { _ in }
    ) -> CallAction {
        var attempt = Attempt(id: nextAttempt, step: step, kind: kind)
        nextAttempt += 1
        change(&attempt)
        self.attempt = attempt
        beginSession(with: step)
        return .begin(Order(attempt: attempt.id, step: step))
    }

    /// Whether the server may remember a login after the session has ended.
    var isRemembered: Bool { cookies.isRemembered }

    /// Starts a separate session for a login: in a session shared by processes, their seeds replace each other.
    mutating func beginSession(with step: Step) {
        switch step {
        case .ping:
            // A captcha's image that the user is looking at belongs to the session.
            guard attempt?.captcha == nil, lastFailure?.wantsCaptcha != true else { return }
            cookies.removeAll()
        case .rememberedLogin: cookies.removeSession()
        case .getSeed, .login, .getSecureToken, .keystore: return
        }
        secureToken = nil
    }

    package static let nobody = PydioError(
        .unableToLogin, "there is no user for this server: set one with setUser(_:forServer:); nothing was sent")
}
