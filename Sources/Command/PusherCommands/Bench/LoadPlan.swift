/// The parameters of a load test.
struct LoadPlan: Sendable {
    /// The name of the published events.
    static let eventName = "bench"

    var connections = 1
    /// The total number of channels.
    var channelCount = 1
    /// The number of channels per connection.
    var subscriptions = 1
    var channelPrefix = "bench-"
    /// The number of connections opened per second; 0 opens all at once.
    var connectRate = 500.0
    /// The number of events published per second, over all channels; 0 is as many as possible.
    var rate = 10.0
    /// The size of an event's data, in bytes.
    var size = 100
    var warmUp = Duration.zero
    var duration = Duration.seconds(10)
    /// The time limit for all connections and subscriptions.
    var connectTimeout = Duration.seconds(30)
    /// The time to wait for late events at the end.
    var drain = Duration.seconds(5)
    /// The number of concurrent requests to the HTTP API.
    var publishers = 8

    var channels: [String] { (0..<channelCount).map { "\(channelPrefix)\($0)" } }

    /// Returns the channels of a connection. Connections are spread evenly over them.
    func channels(of connection: Int) -> [Int] {
        (0..<subscriptions).map { (connection * subscriptions + $0) % channelCount }
    }

    /// The number of connections per channel.
    var subscribers: [Int] {
        var subscribers = [Int](repeating: 0, count: channelCount)
        for connection in 0..<connections {
            for channel in channels(of: connection) { subscribers[channel] += 1 }
        }
        return subscribers
    }
}
