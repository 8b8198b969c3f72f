extension PusherHTTPClient {
    /// One event of a ``triggerBatch(_:)``.
    public struct BatchEvent: Hashable, Sendable {
        /// The channel to publish on.
        public var channel: String
        /// The event's name.
        public var event: String
        /// Any text; JSON by convention.
        public var data: String
        /// A connection that does not get the event.
        public var socketID: String?
        /// What to tell of the channel.
        public var info: Set<ChannelAttribute>

        /// An event with text.
        public init(
            channel: String, event: String, data: String, socketID: String? = nil, info: Set<ChannelAttribute> = []
        ) {
            self.channel = channel
            self.event = event
            self.data = data
            self.socketID = socketID
            self.info = info
        }

        /// An event with a value as JSON; throws if it cannot be written so.
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
