import PusherProtocol
import Realtime

extension Pusher {
    /// Runs `body` with a connected client, and disconnects when it returns, throws or is cancelled.
    ///
    /// - Throws: Errors from ``connected()`` and `body`.
    public static func withConnection<Value: Sendable>(
        key: String, options: PusherClientOptions = PusherClientOptions(),
        _ body: (Pusher) async throws -> Value
    ) async throws -> Value {
        let pusher = Pusher(key: key, options: options)
        let result: Result<Value, any Error>
        do {
            try await pusher.connected()
            result = .success(try await body(pusher))
        } catch {
            result = .failure(error)
        }
        await pusher.disconnected()
        return try result.get()
    }

    /// Connects, and returns when connected; at once if already connected.
    ///
    /// - Throws: ``PusherError`` if the server refuses for good, the last allowed attempt has failed or the client is
    ///   disconnected; `CancellationError` if the task is cancelled. Keeps waiting if the server is unavailable.
    public func connected() async throws {
        let changes = connectionChanges()
        switch connection.connectionState {
        case .connected: return
        case .disconnected, .disconnecting: connect()
        case .connecting, .reconnecting: break  // keep waiting
        }
        var lastError: PusherError?
        for await change in changes {
            switch change {
            case .connected: return
            case .ended: throw lastError ?? PusherError(.couldNotConnect, "the client was disconnected")
            case .failed(let error): lastError = error
            }
        }
        try Task.checkCancellation()
        throw PusherError(.couldNotConnect, "the client is gone")
    }

    /// Disconnects, and returns when disconnected, even if the task is cancelled.
    func disconnected() async {
        let states = connection.states
        disconnect()
        await Task {
            for await state in states where state == .disconnected { break }
        }.value
    }

    enum ConnectionChange: Sendable {
        case connected
        /// The connection is at rest, not merely between two connections.
        case ended
        case failed(PusherError)
    }

    /// Returns the changes of the connection, from this call on.
    func connectionChanges() -> EventSequence<ConnectionChange> {
        connection.observe { [weak connection] notice in
            switch notice {
            case .stateChanged(_, .connected): return .connected
            case .stateChanged(_, .disconnected):
                return connection?.connectionState == .disconnected ? .ended : nil
            case .error(let error): return error.isOfConnection ? .failed(error) : nil
            case .stateChanged, .events, .subscribed, .subscriptionFailed, .decryptionFailed, .memberAdded,
                .memberRemoved, .subscriptionCount, .gap, .signedIn, .signInFailed, .watchlistChanged, .pingAnswered,
                .readingHeld, .readingResumed, .sourceStateChanged:
                return nil
            }
        }
    }
}

extension PusherError {
    /// Whether this error may be the reason that a connection has ended.
    fileprivate var isOfConnection: Bool {
        kind == .couldNotConnect || kind == .connectionLost || kind == .closedByServer
    }
}
