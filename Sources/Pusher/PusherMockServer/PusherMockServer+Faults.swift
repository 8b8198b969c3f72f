import PusherProtocol

extension PusherMockServer {
    /// Makes new connections fail. Faults from several calls strike one after the other.
    ///
    /// - Parameters:
    ///   - count: the number of connections that the fault strikes; `nil` means all from now on.
    ///   - app: the key of the application to affect; `nil` means any.
    public func failHandshakes(_ fault: HandshakeFault, next count: Int? = nil, app: String? = nil) async {
        await onEventLoop { $0.handshakeFaults.arm(fault, next: count, app: app) }
    }

    /// Makes an established connection fail.
    ///
    /// - Parameter frameCount: the number of text frames that still reach the client before that; 0 means now.
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

    /// Makes new connections fail once they are established.
    ///
    /// - Parameters:
    ///   - frameCount: the number of text frames that reach the client before that; the first is
    ///     `pusher:connection_established`.
    ///   - count: the number of connections that the fault strikes; `nil` means all from now on.
    ///   - app: the key of the application to affect; `nil` means any.
    public func injectIntoNewConnections(
        _ fault: ConnectionFault, afterFrames frameCount: Int = 1, next count: Int? = nil, app: String? = nil
    ) async {
        await onEventLoop { $0.connectionFaults.arm((fault, frameCount), next: count, app: app) }
    }

    /// Makes `/pusher/auth` and `/pusher/user-auth` answer incorrectly. Faults from several calls strike one after the
    /// other.
    ///
    /// - Parameters:
    ///   - count: the number of requests that the fault strikes; `nil` means all from now on.
    ///   - app: the key of the application to affect; `nil` means any.
    public func failAuth(_ fault: AuthFault, next count: Int? = nil, app: String? = nil) async {
        await onEventLoop { $0.authFaults.arm(fault, next: count, app: app) }
    }

    /// Changes the master key of an application's encrypted channels, for later events and auth requests. A client with
    /// the previous channel key requests the new one.
    ///
    /// - Parameters:
    ///   - base64: Base64 of 32 bytes; `nil` leaves the application without encrypted channels of its own.
    ///   - app: the key of the application; `nil` means the first one.
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

    /// Removes pending faults for new connections and requests, and sends held auth answers. Connections already
    /// affected stay so.
    public func clearFaults() async {
        await onEventLoop { $0.clearFaults() }
    }
}
