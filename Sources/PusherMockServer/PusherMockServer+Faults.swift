extension PusherMockServer {
    /// Makes new connections fail. Faults armed by several calls strike one after the other.
    ///
    /// - Parameters:
    ///   - count: how many connections the fault strikes; nil is all from now on.
    ///   - app: key of the only application meant; nil is any.
    public func failHandshakes(_ fault: HandshakeFault, next count: Int? = nil, app: String? = nil) async {
        await onEventLoop { $0.handshakeFaults.arm(fault, next: count, app: app) }
    }

    /// Makes an established connection go wrong.
    ///
    /// - Parameter frameCount: text frames that still reach the client before that; 0 is now.
    /// - Throws: ``PusherMockServerError/Code/unknownConnection``.
    public func inject(
        _ fault: ConnectionFault, into socketID: String, afterFrames frameCount: Int = 0
    ) async throws(PusherMockServerError) {
        let isKnown = await onEventLoop { core in
            guard let connection = core.connection(socketID) else { return false }
            connection.inject(fault, afterFrames: frameCount)
            return true
        }
        guard isKnown else {
            throw PusherMockServerError(.unknownConnection, "no open connection has the socket id \(socketID)")
        }
    }

    /// Makes new connections go wrong once they are established.
    ///
    /// - Parameters:
    ///   - frameCount: text frames that reach the client before that; the first is
    ///     `pusher:connection_established`.
    ///   - count: how many connections the fault strikes; nil is all from now on.
    ///   - app: key of the only application meant; nil is any.
    public func injectIntoNewConnections(
        _ fault: ConnectionFault, afterFrames frameCount: Int = 1, next count: Int? = nil, app: String? = nil
    ) async {
        await onEventLoop { $0.connectionFaults.arm((fault, frameCount), next: count, app: app) }
    }

    /// Makes `/pusher/auth` answer wrongly. Faults armed by several calls strike one after the other.
    ///
    /// - Parameters:
    ///   - count: how many requests the fault strikes; nil is all from now on.
    ///   - app: key of the only application meant; nil is any.
    public func failAuth(_ fault: AuthFault, next count: Int? = nil, app: String? = nil) async {
        await onEventLoop { $0.authFaults.arm(fault, next: count, app: app) }
    }

    /// Disarms what waits for new connections and requests. Connections already struck stay so.
    public func clearFaults() async {
        await onEventLoop { core in
            core.handshakeFaults.clear()
            core.connectionFaults.clear()
            core.authFaults.clear()
        }
    }
}
