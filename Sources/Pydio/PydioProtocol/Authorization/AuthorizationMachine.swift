package import Basics
package import Transport

/// The authorisation of all calls of one server and user as a value (section 4).
///
/// A call is sent with a ``Pass``. When the server refuses it, the first to say so starts an attempt, which all others wait
/// for; a call with an older pass than the present one is simply sent again. If the attempt fails, so do all calls that were
/// sent before: many with a wrong password must not be as many logins. An attempt is a row of requests:
///
///     not authorised ── ping ── get_seed ─┬─ keystore (seed −1) ─┬─ done
///                                         └──────── login ───────┘
///     token refused ─── get_secure_token ── done
///     no password ───── login by the cookie of a remembered one ── done
///
/// A login that is answered with an error takes the second row once, and begins anew without cookies once.
package struct AuthorizationMachine: Sendable, Confidential {
    /// What a call is sent with.
    package struct Pass: Hashable, Sendable, Confidential {
        /// Of the authorisation that it comes from.
        package let generation: Int
        package let secureToken: String?
        /// Nil: by the session.
        package let keystoreToken: KeystoreToken?
        /// How many attempts had failed when it was given out.
        let failures: Int

        package var description: String { "pass \(generation)" }
    }

    /// Why the server refused a call.
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
        /// Send it again with the present pass.
        case retry
        /// Wait for the attempt that is under way.
        case wait
        /// The same, after making the first request of it.
        case begin(Order)
        case fail(PydioError)
    }

    /// A request to be made for an attempt.
    package struct Order: Hashable, Sendable, CustomStringConvertible {
        package let attempt: Int
        package let step: Step

        package var description: String { "\(step)" }
    }

    package enum Progress: Equatable, Sendable {
        case send(Order)
        /// The attempt is over; whoever waits goes on.
        case done
        case failed(PydioError)
        /// It was of an attempt that does not count any more.
        case none
    }

    struct Attempt: Sendable {
        var id: Int
        var step: Step
        let kind: PydioAuthentication
        var captcha: String?
        /// A call's token was refused: a new one is all it takes.
        var isForToken = false
        /// Whether the token was asked for in this attempt.
        var hasAskedForToken = false
        /// Whether cookies and token were thrown away in this attempt.
        var isAnew = false
        /// Whether a pair was asked for in this attempt.
        var hasAskedForPair = false
        /// Whether a refused login is tried once more.
        var mayRepeat = false
    }

    /// What the server names the key pair by.
    let deviceId: String
    package internal(set) var user: User?
    package internal(set) var secureToken: String?
    package internal(set) var seed: String?
    package internal(set) var keystoreToken: KeystoreToken?
    package internal(set) var cookies = CookieJar()
    /// Counts what has changed the pass.
    package internal(set) var generation = 0
    var attempt: Attempt?
    var nextAttempt = 1
    /// Attempts that failed with the present user.
    var failures = 0
    var lastFailure: PydioError?
    /// Whether the server was asked for a pair and gives none.
    var hasNoPairs = false

    package init(deviceId: String) {
        self.deviceId = deviceId
    }

    package var description: String { "the authorisation of \(user?.userid ?? "nobody")" }

    /// What no error may quote.
    package var secrets: [String] {
        [user?.password, secureToken, keystoreToken?.token, keystoreToken?.key].compactMap { $0 }
            + cookies.cookies(now: MonotonicInstant(nanoseconds: .min)).map(\.value)
    }

    /// How the last login was refused, if it was.
    package var lastRefusal: PydioLoginResult? { lastFailure?.loginResult }

    package var isAuthorizing: Bool { attempt != nil }

    /// What a call is to be sent with now.
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

    /// The same for a request. The nonce must be new, and have no colon.
    package func requestPass(_ pass: Pass, nonce: String, now: MonotonicInstant) -> RequestPass {
        if let pair = pass.keystoreToken { return .signed(pair, nonce: nonce) }
        return .session(cookies: cookies.field(now: now), secureToken: pass.secureToken)
    }

    // MARK: Settings

    /// Somebody else is not let into the session of who was here before; the same may have a new password.
    package mutating func setUser(_ user: User?) {
        let isOther = user.map { ByteKey($0.userid) } != self.user.map { ByteKey($0.userid) }
        self.user = user
        lastFailure = nil
        if isOther { forgetSession() }
    }

    /// The user's password is another from now on: the next login needs it.
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

    /// Cookies, token, seed and pair; what is under way for them does not count any more.
    package mutating func forgetSession() {
        cookies.removeAll()
        (secureToken, seed, keystoreToken, hasNoPairs) = (nil, nil, nil, false)
        attempt = nil
        generation += 1
    }

    /// The cookies of an answer to a call. Each of many calls without a session is given another one; those that were
    /// overtaken by an authorisation do not count.
    package mutating func take(
        _ fields: HTTPFields, of pass: Pass, from server: ServerAddress, now: MonotonicInstant, seconds: Int
    ) {
        guard attempt == nil, pass.generation == generation, pass.keystoreToken == nil else { return }
        cookies.take(fields, from: server, now: now, seconds: seconds)
    }

    /// Calls that repeat by themselves may log in again.
    package mutating func forgetRefusal() { lastFailure = nil }

    // MARK: Calls

    /// The server has refused a call.
    ///
    /// - Parameter repeatsLogin: Whether to log in although the server has refused the last login. Calls that nobody makes, but
    ///   that repeat by themselves, must not: a few of them are enough for servers to want a captcha.
    package mutating func refused(
        _ pass: Pass, _ refusal: Refusal, as kind: PydioAuthentication, repeatsLogin: Bool = true
    ) -> CallAction {
        // What was refused is not what would be sent now.
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

    /// Somebody wants an authorisation, whatever there is.
    package mutating func authorize(as kind: PydioAuthentication) -> CallAction {
        guard attempt == nil else { return .wait }
        guard user != nil else {
            return isRemembered && kind != .keystoreToken ? begin(.rememberedLogin, kind) : .fail(Self.nobody)
        }
        // A pair that was refused, or the only kind that is wanted.
        if pass(as: kind).keystoreToken != nil || kind == .keystoreToken {
            return begin(.keystore, kind) { $0.hasAskedForPair = true }
        }
        return begin(.ping, kind)
    }

    /// A captcha was solved: a login with the seed that came with it, and nothing else (4.3).
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

    /// Whether the server may remember a login when the session is over.
    var isRemembered: Bool { cookies.isRemembered }

    /// A login has a session of its own: in one that is shared with other processes, their seeds replace each other.
    mutating func beginSession(with step: Step) {
        switch step {
        case .ping:
            // The image of a captcha that somebody is looking at belongs to the session.
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
