import PusherProtocol

extension PusherMockServer {
    /// Publishes like the HTTP API, without its limits. Encrypts the data for an encrypted channel if the application
    /// has a master key. A cache channel keeps the event for later subscribers.
    ///
    /// - Parameters:
    ///   - socketID: the connection that does not receive the event.
    ///   - app: the key of the application; `nil` means the first one.
    /// - Returns: The number of connections that the event was sent to.
    @discardableResult
    public func publish(
        event: String, channel: String, data: String, except socketID: String? = nil, app: String? = nil
    ) async -> Int {
        await onEventLoop { core in
            guard let index = core.index(ofApp: app) else { return 0 }
            return core.publish(
                event: event, channel: channel, data: data, except: socketID.flatMap(SocketID.init), on: index)
        }
    }

    /// Sends any text, well-formed or not, as one text frame.
    public func send(raw text: String, to socketID: String) async throws(PusherMockServerError) {
        try await inject(.text(text), into: socketID)
    }
}
