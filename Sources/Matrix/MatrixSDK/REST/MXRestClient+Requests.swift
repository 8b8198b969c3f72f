import Basics
import CurlTransport
import JSONBytes
import MatrixProtocol
import Transport

extension MXRestClient {
    /// Returns the body of the answer to a call, retrying as needed.
    @concurrent
    @discardableResult
    func perform(_ call: APICall) async throws -> [UInt8] {
        try await response(to: call).body
    }

    @concurrent
    func json(_ call: APICall) async throws -> JSONView {
        guard let json = JSONView(try await response(to: call).body) else { throw Self.unexpected(call) }
        return json
    }

    @concurrent
    func value<Value: Decodable & Sendable>(_ call: APICall, as type: Value.Type = Value.self) async throws -> Value {
        let body = try await response(to: call).body
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            throw Self.unexpected(call)
        }
    }

    /// Returns a required field of the answer.
    @concurrent
    func text(_ field: String, of call: APICall) async throws -> String {
        guard let text = try await json(call)[field]?.string else { throw Self.unexpected(call) }
        return text
    }

    /// Returns a required array of the answer.
    @concurrent
    func list(_ field: String, of call: APICall) async throws -> [JSONView] {
        guard let list = try await json(call)[field]?.array else { throw Self.unexpected(call) }
        return list
    }

    static func unexpected(_ call: APICall) -> MatrixError {
        MatrixError(.badResponse, "the server's answer to \(call.name) is not what the specification says")
    }

    /// Returns the successful answer to a call.
    func response(to call: APICall) async throws -> HTTPResponse {
        try await exchange(call) { [homeserver] token in
            try await homeserver.send(
                try homeserver.request(call, token: token), onProgress: call.onProgress)
        }
    }

    /// Performs an exchange until it succeeds or must not be retried.
    ///
    /// - Parameter send: Sends once with this token. Throws `TransportError` when the transport fails.
    func exchange(
        _ call: APICall, _ send: @Sendable (_ token: String?) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        var retry = RetryMachine(homeserver.options.retryPolicy, isRepeatable: call.isRepeatable, now: .now)
        var rejections = 0
        while true {
            let action: RetryMachine.Action
            let failure: any Error
            do {
                let token = try await token(for: call)
                let response = try await send(token)
                if (200..<300).contains(response.status) { return response }
                if call.isInteractive,
                    let session = MXAuthenticationSession(status: response.status, body: response.body)
                {
                    throw InteractionWanted(session: session)
                }
                let error = APIAnswer.error(response, of: call.name)
                if response.status == 429 {
                    action = retry.rateLimited(retryAfter: APIAnswer.retryAfter(error, response), now: .now)
                } else if let token, let error = error as? MXError, error.errcode == kMXErrCodeStringUnknownToken {
                    // Once after a refresh; a rejected token that a refresh for another request has already replaced
                    // counts half.
                    rejections += try tokens.rejected(token, error) ? 2 : 1
                    action = rejections > 3 ? .giveUp : .retry(after: .zero)
                } else {
                    throw error
                }
                failure = error
            } catch let error as TransportError {
                failure = MatrixError(error)
                action =
                    error.isTemporary && call.survivesConnections
                    ? retry.connectionFailed(neverLeft: error.neverLeft, random: .random(in: 0...1)) : .giveUp
            } catch let error as RefreshFailure {
                // The request itself was not sent.
                failure = error.reason
                action =
                    call.survivesConnections
                    ? retry.connectionFailed(neverLeft: true, random: .random(in: 0...1)) : .giveUp
            } catch is CancellationError {
                throw MatrixError.cancelled
            }
            switch action {
            case .giveUp: throw failure
            case .retry(let delay): try await Self.pause(delay)
            }
        }
    }

    private func token(for call: APICall) async throws -> String? {
        switch call.authorization {
        case .none: return nil
        case .optional: return try await tokens.token()
        case .required:
            guard let token = try await tokens.token() else {
                throw MatrixError(.unauthenticated, "nobody is logged in; \(call.name) needs an access token")
            }
            return token
        }
    }

    static func pause(_ duration: Duration) async throws {
        do {
            if duration > .zero { try await Task.sleep(for: duration.bounded) }
            try Task.checkCancellation()
        } catch {
            throw MatrixError.cancelled
        }
    }
}
