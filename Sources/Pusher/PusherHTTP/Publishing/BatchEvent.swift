extension PusherHTTPClient {
    /// One event in a call of ``triggerBatch(_:)``.
    public struct BatchEvent: Hashable, Sendable {
        /// The channel to publish on.
        public var channel: String
        /// The event's name.
        public var event: String
        /// Any text; JSON by convention.
        public var data: String
        /// The connection that does not receive the event.
        public var socketID: String?
        /// The attributes of the channel to report.
        public var info: Set<ChannelAttribute>

        /// Creates an event with text.
        public init(
            channel: String, event: String, data: String, socketID: String? = nil, info: Set<ChannelAttribute> = []
        ) {
            self.channel = channel
            self.event = event
            self.data = data
            self.socketID = socketID
            self.info = info
        }

        /// Creates an event with a value as JSON; throws if the value cannot be encoded.
        public init(
            channel: String, event: String, json value: some Encodable, socketID: String? = nil,
            info: Set<ChannelAttribute> = []
        ) throws(PusherHTTPError) {
            self.init(
                channel: channel, event: event, data: try CallersJSON.encode(value, of: "the data"), socketID: socketID,
                info: info)
        }
    }
}
