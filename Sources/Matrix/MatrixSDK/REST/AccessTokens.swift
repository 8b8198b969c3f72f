import Basics
import CurlTransport
import JSONBytes
import MatrixProtocol
import Realtime
import Transport

/// A temporary failure to refresh the tokens.
struct RefreshFailure: Error {
    let reason: any Error
}

/// The shell of ``TokenMachine``: performs the single refresh that all requests wait for.
final class AccessTokens: Sendable {
    /// The handlers of token events; see ``MXRestClient``.
    struct Handlers: Sendable {
        var persist: (@Sendable (MXCredentials) async throws -> Void)?
        var observers: [@Sendable (TokenMachine.Ending) -> Void] = []
        var unauthenticated: (@Sendable (MXError, Bool, Bool) -> Void)?
        var refreshed: (@Sendable (MXCredentials) -> Void)?
    }

    private struct State: SharingAttempts {
        var machine: TokenMachine
        var handlers: Handlers
        /// The current attempt to refresh or save the tokens.
        var attempt = SharedAttempt()
    }

    private let homeserver: Homeserver
    private let state: Lock<State>

    init(_ credentials: MXCredentials?, homeserver: Homeserver, handlers: Handlers) {
        self.homeserver = homeserver
        state = Lock(State(machine: TokenMachine(credentials), handlers: handlers))
    }

    var credentials: MXCredentials? { state.withLock { $0.machine.credentials } }

    func setRefreshedHandler(_ handler: (@Sendable (MXCredentials) -> Void)?) {
        // The old handler is released outside the lock.
        _ = state.withLock { state in
            defer { state.handlers.refreshed = handler }
            return state.handlers.refreshed
        }
    }

    func observeUnauthenticated(_ observer: @escaping @Sendable (TokenMachine.Ending) -> Void) {
        let ending = state.withLock { state in
            state.handlers.observers.append(observer)
            return state.machine.ending
        }
        if let ending { observer(ending) }
    }

    func loggedIn(_ credentials: MXCredentials) {
        state.withLock { $0.machine.loggedIn(credentials, now: Self.now) }
        wake(.success(()))
    }

    /// Records whose token it is.
    func identify(_ credentials: MXCredentials) {
        state.withLock { $0.machine.identified(userId: credentials.userId, deviceId: credentials.deviceId) }
    }

    func loggedOut() {
        state.withLock { $0.machine.loggedOut() }
        wake(.success(()))
    }

    static var now: UInt64 { UInt64(max((Date().timeIntervalSince1970 * 1000).clampedToInt64, 0)) }

    // MARK: Requests

    /// Returns the token to send a request with, or `nil` if there is none. Waits for a refresh.
    func token() async throws -> String? {
        while true {
            try Task.checkCancellation()
            let (action, version) = state.withLock { ($0.machine.tokenWanted(now: Self.now), $0.attempt.version) }
            switch action {
            case .send(let token): return token
            case .fail(let ending): throw ending.error
            case .wait: break
            // Separate tasks: all requests wait for them, so none may cancel them.
            case .refresh(let refresh): Task { await self.make(refresh) }
            case .save(let id, let credentials): Task { await self.save(credentials, id: id) }
            }
            try await state.endOfAttempt(since: version, cancelled: MatrixError.cancelled)
        }
    }

    /// Handles the server's rejection of `token`.
    /// - Returns: Whether it was the current token.
    /// - Throws: If there will be no other token.
    func rejected(_ token: String, _ error: MXError) throws -> Bool {
        switch state.withLock({ $0.machine.tokenRejected(token, error) }) {
        case .refreshFirst: return true
        case .again: return false
        case .end(let ending):
            report(ending)
            throw ending.error
        case .fail(let ending): throw ending.error
        }
    }

    private func wake(_ result: Result<Void, any Error>) {
        state.withLock { $0.attempt.end(result) }.resume()
    }

    private func report(_ ending: TokenMachine.Ending) {
        let handlers = state.withLock { $0.handlers }
        for observer in handlers.observers { observer(ending) }
        handlers.unauthenticated?(ending.error, ending.isSoftLogout, ending.isRefreshTokenAuth)
    }

    // MARK: Refreshing

    private enum Outcome {
        case tokens(JSONView, accessToken: String)
        case refused(MXError)
        case failed(any Error)
    }

    private func make(_ refresh: TokenMachine.Refresh) async {
        if refresh.delay > .zero { try? await Task.sleep(for: refresh.delay) }
        switch await outcome(of: refresh) {
        case .tokens(let answer, let accessToken):
            let action = state.withLock {
                $0.machine.refreshSucceeded(
                    id: refresh.id, accessToken: accessToken, refreshToken: answer["refresh_token"]?.string,
                    expiresIn: answer["expires_in_ms"]?.wholePart, now: Self.now)
            }
            switch action {
            case .save(let id, let credentials): await save(credentials, id: id)
            case .none: wake(.success(()))
            }
        case .refused(let error):
            if let ending = state.withLock({ $0.machine.refreshRefused(id: refresh.id, error) }) { report(ending) }
            wake(.success(()))
        case .failed(let error):
            let isUsable = state.withLock { state in
                state.machine.refreshFailed(id: refresh.id, now: Self.now, random: .random(in: 0.5...1))
                return state.machine.isUsable(at: Self.now)
            }
            wake(isUsable ? .success(()) : .failure(RefreshFailure(reason: error)))
        }
    }

    /// Error codes that mean the refresh token is invalid for good. Any other error may be temporary.
    private static let endings: Set<String> = [
        kMXErrCodeStringUnknownToken, kMXErrCodeStringForbidden, kMXErrCodeStringMissingToken, "M_USER_DEACTIVATED",
    ]

    private func outcome(of refresh: TokenMachine.Refresh) async -> Outcome {
        let call = APICall(
            .post, "v3/refresh", json: ["refresh_token": refresh.token], authorization: .none)
        do {
            let request = try homeserver.request(call, token: nil)
            let response = try await homeserver.send(request)
            if (200..<300).contains(response.status) {
                guard let answer = JSONView(response.body), let token = answer["access_token"]?.string, !token.isEmpty
                else {
                    return .failed(MatrixError(.badResponse, "the answer to \(call.name) holds no access token"))
                }
                return .tokens(answer, accessToken: token)
            }
            let error = APIAnswer.error(response, of: call.name)
            if let error = error as? MXError, Self.endings.contains(error.errcode) { return .refused(error) }
            return .failed(error)
        } catch let error as TransportError {
            return .failed(MatrixError(error))
        } catch {
            return .failed(error)
        }
    }

    private func save(_ credentials: MXCredentials, id: Int) async {
        let handlers = state.withLock { $0.handlers }
        do {
            try await handlers.persist?(credentials)
        } catch {
            state.withLock { $0.machine.savingFailed(id: id) }
            let failure = MatrixError(
                .store, "the new tokens could not be saved, so they are not used yet; the next request tries again")
            return wake(.failure(failure))
        }
        switch state.withLock({ $0.machine.saved(id: id, now: Self.now) }) {
        case .use(let credentials): handlers.refreshed?(credentials)
        case .none: break
        }
        wake(.success(()))
    }
}
