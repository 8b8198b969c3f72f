import PusherMockServer
import PusherProtocol

extension TestClient {
    static let credentials = AppCredentials(
        key: PusherMockServer.App.defaultKey, secret: PusherMockServer.App.defaultSecret)

    /// Sends a `pusher:subscribe`, with a signature if the channel needs it.
    func sendSubscribe(_ channel: String, socketID: String, channelData: String? = nil) async throws {
        let name = try ChannelName(channel)
        var data = #""channel":\#(quoted(channel))"#
        if name.needsAuthorization, let socketID = SocketID(socketID) {
            let auth = Self.credentials.channelAuth(socketID: socketID, channel: name, channelData: channelData)
            data += #","auth":"\#(auth)""#
        }
        if let channelData { data += #","channel_data":\#(quoted(channelData))"# }
        try await send(#"{"event":"pusher:subscribe","data":{\#(data)}}"#)
    }

    /// Subscribes and returns the answer.
    func subscribe(_ channel: String, socketID: String, channelData: String? = nil) async throws -> String? {
        try await sendSubscribe(channel, socketID: socketID, channelData: channelData)
        return await text()
    }

    /// Returns an established connection that is subscribed to `channel`.
    static func subscribed(
        to channel: String, on server: PusherMockServer, channelData: String? = nil
    ) async throws -> (client: TestClient, socketID: String) {
        let (client, socketID) = try await established(to: server)
        _ = try await client.subscribe(channel, socketID: socketID, channelData: channelData)
        return (client, socketID)
    }

    private func quoted(_ text: String) -> String {
        #""\#(text.replacing("\\", with: #"\\"#).replacing("\"", with: #"\""#))""#
    }
}

/// A `pusher:error` without a code, as text.
func errorFrame(_ message: String, code: Int? = nil) -> String {
    #"{"event":"pusher:error","data":{"code":\#(code.map { "\($0)" } ?? "null"),"message":"\#(message)"}}"#
}

func succeeded(_ channel: String) -> String {
    #"{"event":"pusher_internal:subscription_succeeded","channel":"\#(channel)","data":"{}"}"#
}
