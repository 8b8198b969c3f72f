/// The tokens of one account as a value (client-server specification, "Refreshing access tokens").
///
/// One refresh at a time; new tokens are saved before anything is sent with them; a refusal ends it for good, a failure on
/// the way does not. Times are milliseconds since 1970.
package struct TokenMachine: Sendable {
    /// Why there is no token any more.
    package struct Ending: Hashable, Sendable {
        /// What the server said.
        package let error: MXError
        /// Whether the device lives on, so that a login with its id goes on where it was.
        package let isSoftLogout: Bool
        /// Whether it was the refresh token that was refused.
        package let isRefreshTokenAuth: Bool

        package init(error: MXError, isSoftLogout: Bool, isRefreshTokenAuth: Bool) {
            (self.error, self.isSoftLogout, self.isRefreshTokenAuth) = (error, isSoftLogout, isRefreshTokenAuth)
        }
    }

    /// A refresh to be made.
    package struct Refresh: Hashable, Sendable, CustomStringConvertible {
        /// Tells this refresh from one of earlier credentials.
        package let id: Int
        package let token: String
        /// To wait before: the last one failed just now.
        package let delay: Duration

        package init(id: Int, token: String, delay: Duration) {
            (self.id, self.token, self.delay) = (id, token, delay)
        }

        /// Never the token.
        package var description: String { "refresh \(id) after \(delay)" }
    }

    private enum State {
        /// The access token may be used, or refreshed.
        case ready
        case refreshing(id: Int)
        /// The new tokens are with whoever keeps them.
        case saving(id: Int, MXCredentials)
        /// The new tokens could not be saved; that is tried again before they are used.
        case unsaved(MXCredentials)
        case ended(Ending)
    }

    private var state = State.ready
    /// The tokens that may be used.
    package private(set) var credentials: MXCredentials?
    /// Life of the access token when it came; nil if that is not known.
    private var lifetime: UInt64?
    /// What the server said of the current access token.
    private var rejection: MXError?
    private var nextId = 1
    private var failures = 0
    private var retryAt: UInt64 = 0
    /// When the current tokens came from a refresh.
    private var refreshedAt: UInt64?
    /// Refreshes in a row, each sooner after the one before than its tokens should have lived.
    private var hurries = 0

    /// - Parameter credentials: Nil: nobody is logged in.
    package init(_ credentials: MXCredentials? = nil) {
        self.credentials = credentials
    }

    /// Why it is over; nil if it is not.
    package var ending: Ending? {
        switch state {
        case .ended(let ending): ending
        case .ready, .refreshing, .saving, .unsaved: nil
        }
    }

    // MARK: Logging in and out

    /// Somebody has logged in. What is under way for earlier credentials does not count any more.
    package mutating func loggedIn(_ credentials: MXCredentials, now: UInt64) {
        let id = nextId + 1
        self = TokenMachine(credentials)
        nextId = id
        if credentials.accessTokenExpiresAt > now { lifetime = credentials.accessTokenExpiresAt - now }
    }

    /// The server says whose the token is.
    package mutating func identified(userId: String?, deviceId: String?) {
        credentials?.userId = userId
        credentials?.deviceId = deviceId
    }

    /// The tokens were given up.
    package mutating func loggedOut() {
        let id = nextId + 1
        self = TokenMachine()
        nextId = id
    }

    // MARK: Requests

    package enum WantedAction: Equatable {
        /// Send with this token; nil without one.
        case send(token: String?)
        /// Make this refresh, and ask again when it is done.
        case refresh(Refresh)
        /// Save these tokens, and ask again when it is done.
        case save(id: Int, MXCredentials)
        /// Ask again when what is under way is done.
        case wait
        case fail(Ending)
    }

    /// A request is to be sent.
    package mutating func tokenWanted(now: UInt64) -> WantedAction {
        switch state {
        case .refreshing, .saving: return .wait
        case .ended(let ending): return .fail(ending)
        case .unsaved(let new): return .save(id: begin { .saving(id: $0, new) }, new)
        case .ready:
            guard let refreshToken = credentials?.refreshToken, isDue(at: now) else {
                return .send(token: credentials?.accessToken)
            }
            let delay = Duration.milliseconds(max(earliestRefresh(at: now), now) - now)
            // A token that still works is not kept waiting for the next try.
            if delay > .zero && isUsable(at: now) { return .send(token: credentials?.accessToken) }
            hurries = isHurried(at: now) ? hurries + 1 : 0
            return .refresh(Refresh(id: begin { .refreshing(id: $0) }, token: refreshToken, delay: delay))
        }
    }

    /// After a try that failed, or tokens that died early, the next one waits.
    private func earliestRefresh(at now: UInt64) -> UInt64 {
        guard let refreshedAt, isHurried(at: now) else { return retryAt }
        return max(retryAt, refreshedAt + min(250 << UInt64(min(hurries, 8)), 15_000))
    }

    /// Whether tokens from a refresh are to be replaced sooner than the server has said, or at once if it has not.
    private func isHurried(at now: UInt64) -> Bool {
        guard let refreshedAt, now >= refreshedAt else { return false }
        return now - refreshedAt < min((lifetime ?? 20_000) / 2, 10_000)
    }

    /// The life of an access token that a server gives in milliseconds; nil if that says nothing: the server will say when
    /// it does not take the token any more. Nobody is to refresh tokens all the time, so that short lives are prolonged.
    package static func life(_ milliseconds: Int?) -> UInt64? {
        guard let milliseconds, (1...longestLife).contains(milliseconds) else { return nil }
        return UInt64(max(milliseconds, shortestLife))
    }

    private static let shortestLife = 2_000
    /// A hundred years.
    private static let longestLife = 3_155_760_000_000

    private mutating func begin(_ state: (Int) -> State) -> Int {
        defer { nextId += 1 }
        self.state = state(nextId)
        return nextId
    }

    /// Whether the current access token can still be sent.
    package func isUsable(at now: UInt64) -> Bool {
        guard rejection == nil, let credentials, credentials.accessToken != nil else { return false }
        return credentials.accessTokenExpiresAt == 0 || credentials.accessTokenExpiresAt > now
    }

    /// Less than a minute is left, or than half of a life below two.
    private func isDue(at now: UInt64) -> Bool {
        guard isUsable(at: now), let expiry = credentials?.accessTokenExpiresAt, expiry > 0 else {
            return !isUsable(at: now)
        }
        let margin = min(lifetime.map { $0 / 2 } ?? 60_000, 60_000)
        return expiry - now < margin
    }

    package enum RejectedAction: Equatable {
        /// Ask for a token again, which makes the refresh.
        case refreshFirst
        /// Ask for a token again: this one was replaced already.
        case again
        /// It is over; whoever is to know has not been told.
        case end(Ending)
        /// It is over, and known.
        case fail(Ending)
    }

    /// The server does not take `token` any more (`M_UNKNOWN_TOKEN`).
    package mutating func tokenRejected(_ token: String, _ error: MXError) -> RejectedAction {
        if case .ended(let ending) = state { return .fail(ending) }
        guard token == credentials?.accessToken else { return .again }
        rejection = error
        guard credentials?.refreshToken == nil else { return .refreshFirst }
        let ending = Ending(error: error, isSoftLogout: error.isSoftLogout, isRefreshTokenAuth: false)
        state = .ended(ending)
        return .end(ending)
    }

    // MARK: Refreshing

    package enum RefreshedAction: Equatable {
        case save(id: Int, MXCredentials)
        /// It was of earlier credentials.
        case none
    }

    /// The server gave new tokens. Without a new refresh token the old one stays.
    package mutating func refreshSucceeded(
        id: Int, accessToken: String, refreshToken: String?, expiresIn: Int?, now: UInt64
    ) -> RefreshedAction {
        guard case .refreshing(id) = state, var new = credentials else { return .none }
        new.accessToken = accessToken
        new.refreshToken = refreshToken ?? new.refreshToken
        lifetime = Self.life(expiresIn)
        new.accessTokenExpiresAt = lifetime.map { now + $0 } ?? 0
        return .save(id: begin { .saving(id: $0, new) }, new)
    }

    package enum SavedAction: Equatable {
        /// The new tokens are the current ones: tell who is to know, wake who waits.
        case use(MXCredentials)
        case none
    }

    /// The new tokens are saved.
    package mutating func saved(id: Int, now: UInt64) -> SavedAction {
        guard case .saving(id, let new) = state else { return .none }
        state = .ready
        credentials = new
        (rejection, failures, retryAt, refreshedAt) = (nil, 0, 0, now)
        return .use(new)
    }

    /// They could not be saved.
    package mutating func savingFailed(id: Int) {
        guard case .saving(id, let new) = state else { return }
        state = .unsaved(new)
    }

    /// The server refused the refresh token.
    ///
    /// - Returns: What is to be reported; nil if it was of earlier credentials.
    package mutating func refreshRefused(id: Int, _ error: MXError) -> Ending? {
        guard case .refreshing(id) = state else { return nil }
        let ending = Ending(
            error: error, isSoftLogout: error.isSoftLogout || rejection?.isSoftLogout == true, isRefreshTokenAuth: true)
        state = .ended(ending)
        return ending
    }

    /// The refresh failed on the way: the tokens stay, and the next try waits longer each time.
    ///
    /// - Parameter random: From 0 to 1.
    package mutating func refreshFailed(id: Int, now: UInt64, random: Double) {
        guard case .refreshing(id) = state else { return }
        state = .ready
        failures += 1
        let longest = min(500 << UInt64(min(failures, 8)), 15_000)
        retryAt = now + UInt64(Double(longest) * min(max(random, 0), 1))
    }
}
