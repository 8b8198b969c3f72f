import PusherProtocol

extension PusherMockServer {
    /// Publishes as the HTTP API would, without its limits. For an encrypted channel of an application with a master
    /// key the data is encrypted. A cache channel keeps the event for those who subscribe later.
    ///
    /// - Parameters:
    ///   - socketID: this connection does not get the event.
    ///   - app: key of the application; nil is the first one.
    /// - Returns: how many connections the event went to.
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
