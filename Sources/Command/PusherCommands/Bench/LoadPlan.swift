/// What a load test does.
struct LoadPlan: Sendable {
    /// The name of the events that are published.
    static let eventName = "bench"

    var connections = 1
    /// All channels together.
    var channelCount = 1
    /// Channels that each connection follows.
    var subscriptions = 1
    var channelPrefix = "bench-"
    /// Connections opened in a second; 0 is all at once.
    var connectRate = 500.0
    /// Events published in a second, over all channels; 0 is as many as possible.
    var rate = 10.0
    /// Bytes of the data of an event.
    var size = 100
    var warmUp = Duration.zero
    var duration = Duration.seconds(10)
    /// For all connections and subscriptions.
    var connectTimeout = Duration.seconds(30)
    /// How long to wait at the end for what is late.
    var drain = Duration.seconds(5)
    /// Requests to the HTTP API under way at a time.
    var publishers = 8

    var channels: [String] { (0..<channelCount).map { "\(channelPrefix)\($0)" } }

    /// The channels of a connection: connections are spread over them evenly.
    func channels(of connection: Int) -> [Int] {
        (0..<subscriptions).map { (connection * subscriptions + $0) % channelCount }
    }

    /// How many connections follow each channel.
    var subscribers: [Int] {
        var subscribers = [Int](repeating: 0, count: channelCount)
        for connection in 0..<connections {
            for channel in channels(of: connection) { subscribers[channel] += 1 }
        }
        return subscribers
    }
}
