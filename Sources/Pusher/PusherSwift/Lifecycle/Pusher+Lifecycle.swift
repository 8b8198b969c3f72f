import PusherProtocol
import Realtime

extension Pusher {
    /// Runs `body` with a connected client, and disconnects when it returns, throws or is cancelled.
    ///
    /// - Throws: What ``connected()`` and `body` throw.
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

    /// Connects, and returns when that is done; at once if it is.
    ///
    /// - Throws: ``PusherError`` if the server refuses for good, the last attempt allowed has failed or somebody
    ///   disconnects; `CancellationError` if the task is cancelled. A server that is away is waited for.
    public func connected() async throws {
        let changes = connectionChanges()
        switch connection.connectionState {
        case .connected: return
        case .disconnected, .disconnecting: connect()
        case .connecting, .reconnecting: break  // in its own time
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

    /// Disconnects, and returns when that is done. Not kept from it by cancellation.
    func disconnected() async {
        let states = connection.states
        disconnect()
        await Task {
            for await state in states where state == .disconnected { break }
        }.value
    }

    enum ConnectionChange: Sendable {
        case connected
        /// At rest: not merely between two connections.
        case ended
        case failed(PusherError)
    }

    /// What becomes of the connection, from this call on.
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
    /// Whether it may be why a connection is no more.
    fileprivate var isOfConnection: Bool {
        kind == .couldNotConnect || kind == .connectionLost || kind == .closedByServer
    }
}
