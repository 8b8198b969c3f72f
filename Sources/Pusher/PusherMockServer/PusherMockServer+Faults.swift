import PusherProtocol

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

    /// Makes `/pusher/auth` and `/pusher/user-auth` answer wrongly. Faults armed by several calls strike one after the other.
    ///
    /// - Parameters:
    ///   - count: how many requests the fault strikes; nil is all from now on.
    ///   - app: key of the only application meant; nil is any.
    public func failAuth(_ fault: AuthFault, next count: Int? = nil, app: String? = nil) async {
        await onEventLoop { $0.authFaults.arm(fault, next: count, app: app) }
    }

    /// Changes what the keys of an application's encrypted channels are made from, for later events and auth requests.
    /// A client that has the key of before asks for the new one.
    ///
    /// - Parameters:
    ///   - base64: of 32 bytes; nil leaves the application without encrypted channels of its own.
    ///   - app: key of the application; nil is the first one.
    /// - Throws: ``PusherMockServerError/Code/invalidConfiguration`` or ``PusherMockServerError/Code/unknownApp``.
    public func setEncryptionMasterKey(_ base64: String?, app: String? = nil) async throws(PusherMockServerError) {
        if let base64, EncryptionMasterKey(base64: base64) == nil {
            throw PusherMockServerError(
                .invalidConfiguration, "the new encryption master key is not base64 of 32 bytes")
        }
        let isKnown = await onEventLoop { core in
            guard let index = core.index(ofApp: app) else { return false }
            core.change(index) { $0.app.encryptionMasterKey = base64 }
            return true
        }
        guard isKnown else {
            throw PusherMockServerError(.unknownApp, "no application has the key \(app ?? "")")
        }
    }

    /// Disarms what waits for new connections and requests, and gives auth answers that are held. Connections already
    /// struck stay so.
    public func clearFaults() async {
        await onEventLoop { $0.clearFaults() }
    }
}
