/// The token state of one account, as a value (client-server specification, "Refreshing access tokens").
///
/// Allows one refresh at a time. New tokens are saved before they are used. A refusal ends the state machine for good;
/// a network failure does not. Times are in milliseconds since 1970.
package struct TokenMachine: Sendable {
    /// The reason why there is no valid token any more.
    package struct Ending: Hashable, Sendable {
        /// The server's error.
        package let error: MXError
        /// Whether the device still exists, so that a new login with its id can resume.
        package let isSoftLogout: Bool
        /// Whether the server refused the refresh token.
        package let isRefreshTokenAuth: Bool

        package init(error: MXError, isSoftLogout: Bool, isRefreshTokenAuth: Bool) {
            (self.error, self.isSoftLogout, self.isRefreshTokenAuth) = (error, isSoftLogout, isRefreshTokenAuth)
        }
    }

    /// A refresh to perform.
    package struct Refresh: Hashable, Sendable, CustomStringConvertible {
        /// An id that distinguishes this refresh from those of earlier credentials.
        package let id: Int
        package let token: String
        /// The delay before the refresh, after a recent failure.
        package let delay: Duration

        package init(id: Int, token: String, delay: Duration) {
            (self.id, self.token, self.delay) = (id, token, delay)
        }

        /// Never contains the token.
        package var description: String { "refresh \(id) after \(delay)" }
    }

    private enum State {
        /// The access token can be used or refreshed.
        case ready
        case refreshing(id: Int)
        /// The new tokens are being saved.
        case saving(id: Int, MXCredentials)
        /// The new tokens could not be saved. Saving is retried before they are used.
        case unsaved(MXCredentials)
        case ended(Ending)
    }

    private var state = State.ready
    /// The tokens to use.
    package private(set) var credentials: MXCredentials?
    /// The access token's lifetime when it was issued; `nil` if unknown.
    private var lifetime: UInt64?
    /// The error with which the server rejected the current access token.
    private var rejection: MXError?
    private var nextId = 1
    private var failures = 0
    private var retryAt: UInt64 = 0
    /// The time of the refresh that returned the current tokens.
    private var refreshedAt: UInt64?
    /// The number of consecutive refreshes that came earlier than the tokens' lifetime should have required.
    private var hurries = 0

    /// - Parameter credentials: Pass `nil` if no user is logged in.
    package init(_ credentials: MXCredentials? = nil) {
        self.credentials = credentials
    }

    /// The reason why the tokens are no longer valid; `nil` while they are.
    package var ending: Ending? {
        switch state {
        case .ended(let ending): ending
        case .ready, .refreshing, .saving, .unsaved: nil
        }
    }

    // MARK: Logging in and out

    /// Stores the credentials of a new login. Pending operations of earlier credentials are ignored.
    package mutating func loggedIn(_ credentials: MXCredentials, now: UInt64) {
        let id = nextId + 1
        self = TokenMachine(credentials)
        nextId = id
        if credentials.accessTokenExpiresAt > now { lifetime = credentials.accessTokenExpiresAt - now }
    }

    /// Stores the owner of the token as reported by the server.
    package mutating func identified(userId: String?, deviceId: String?) {
        credentials?.userId = userId
        credentials?.deviceId = deviceId
    }

    /// Discards the tokens after a logout.
    package mutating func loggedOut() {
        let id = nextId + 1
        self = TokenMachine()
        nextId = id
    }

    // MARK: Requests

    package enum WantedAction: Equatable {
        /// Send with this token, or without one if it is `nil`.
        case send(token: String?)
        /// Perform this refresh, then ask again.
        case refresh(Refresh)
        /// Save these tokens, then ask again.
        case save(id: Int, MXCredentials)
        /// Ask again when the pending operation has finished.
        case wait
        case fail(Ending)
    }

    /// Returns how to get a token for a request.
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
            // Don't let a token that still works wait for the next attempt.
            if delay > .zero && isUsable(at: now) { return .send(token: credentials?.accessToken) }
            hurries = isHurried(at: now) ? hurries + 1 : 0
            return .refresh(Refresh(id: begin { .refreshing(id: $0) }, token: refreshToken, delay: delay))
        }
    }

    /// Returns the earliest time of the next refresh: after a failure, or if tokens expired early, it is delayed.
    private func earliestRefresh(at now: UInt64) -> UInt64 {
        guard let refreshedAt, isHurried(at: now) else { return retryAt }
        return max(retryAt, refreshedAt + min(250 << UInt64(min(hurries, 8)), 15_000))
    }

    /// Whether refreshed tokens are being replaced earlier than the server announced, or at once if it did not.
    private func isHurried(at now: UInt64) -> Bool {
        guard let refreshedAt, now >= refreshedAt else { return false }
        return now - refreshedAt < min((lifetime ?? 20_000) / 2, 10_000)
    }

    /// Returns the lifetime of an access token from the server's value in milliseconds; `nil` if the value is not
    /// usable: the server rejects the token when it expires. Short lifetimes are raised to avoid constant refreshes.
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

    /// Whether less than a minute of the lifetime is left, or less than half of a lifetime under two minutes.
    private func isDue(at now: UInt64) -> Bool {
        guard isUsable(at: now), let expiry = credentials?.accessTokenExpiresAt, expiry > 0 else {
            return !isUsable(at: now)
        }
        let margin = min(lifetime.map { $0 / 2 } ?? 60_000, 60_000)
        return expiry - now < margin
    }

    package enum RejectedAction: Equatable {
        /// Ask for a token again, which starts the refresh.
        case refreshFirst
        /// Ask for a token again: this one has already been replaced.
        case again
        /// The session has ended, and its owner has not been notified yet.
        case end(Ending)
        /// The session has ended, and its owner has been notified.
        case fail(Ending)
    }

    /// Handles the server's rejection of `token` (`M_UNKNOWN_TOKEN`).
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
        /// The refresh belonged to earlier credentials.
        case none
    }

    /// Handles new tokens from the server. If there is no new refresh token, the old one stays valid.
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
        /// The new tokens are current: notify the owner and resume waiting requests.
        case use(MXCredentials)
        case none
    }

    /// Handles the completed save of the new tokens.
    package mutating func saved(id: Int, now: UInt64) -> SavedAction {
        guard case .saving(id, let new) = state else { return .none }
        state = .ready
        credentials = new
        (rejection, failures, retryAt, refreshedAt) = (nil, 0, 0, now)
        return .use(new)
    }

    /// Handles a failure to save the new tokens.
    package mutating func savingFailed(id: Int) {
        guard case .saving(id, let new) = state else { return }
        state = .unsaved(new)
    }

    /// Handles the server's refusal of the refresh token.
    ///
    /// - Returns: The ending to report; `nil` if the refresh belonged to earlier credentials.
    package mutating func refreshRefused(id: Int, _ error: MXError) -> Ending? {
        guard case .refreshing(id) = state else { return nil }
        let ending = Ending(
            error: error, isSoftLogout: error.isSoftLogout || rejection?.isSoftLogout == true, isRefreshTokenAuth: true)
        state = .ended(ending)
        return ending
    }

    /// Handles a network failure of the refresh. The tokens stay, and the delay grows with each attempt.
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
