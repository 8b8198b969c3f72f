import ArgumentParser
import CommandKit
import PusherHTTP
import PusherProtocol

/// The amount, kind and duration of the load.
struct LoadOptions: ParsableArguments {
    @Option(help: "Number of connections.")
    var connections = 1

    @Option(help: "Total number of channels. Events go to them in turn.")
    var channels = 1

    @Option(
        help: "Channels that each connection subscribes to; connections are spread evenly. Default: all.")
    var subscriptions: Int?

    @Option(
        help: """
            The prefix of the channels' names, before a number. It determines their type: private-, presence-, \
            private-encrypted- or cache-.
            """)
    var channelPrefix = "bench-"

    @Option(help: "Events to publish per second, over all channels; 0 publishes as many as the HTTP API takes.")
    var rate = 10.0

    @Option(help: "How long to measure, in seconds.")
    var duration = 10.0

    @Option(help: "How long to publish before measuring, in seconds.")
    var warmUp = 0.0

    @Option(help: "Size of each event's data in bytes, \(EventStamp.maximumSize) to 10240.")
    var size = 100

    @Option(help: "Connections to open per second; 0 opens all at once.")
    var connectRate = 500.0

    @Option(help: "Seconds to wait for connections and subscriptions once all are opened.")
    var connectTimeout = 30.0

    @Option(help: "Seconds to wait for late events at the end.")
    var drain = 5.0

    @Option(help: "Number of concurrent HTTP requests. A channel's events wait for each other, to stay in order.")
    var publishers = 8

    func validate() throws {
        guard (1...100_000).contains(connections) else { throw ValidationError("--connections must be 1 to 100000.") }
        guard (1...100_000).contains(channels) else { throw ValidationError("--channels must be 1 to 100000.") }
        if let subscriptions {
            guard (1...channels).contains(subscriptions) else {
                throw ValidationError("--subscriptions must be from 1 to the number of channels.")
            }
            guard connections * subscriptions >= channels else {
                throw ValidationError("Some channels would have no subscribers: raise --subscriptions.")
            }
        }
        guard connections * (subscriptions ?? channels) <= 10_000_000 else {
            throw ValidationError("That makes more than 10 million subscriptions: lower --subscriptions.")
        }
        do {
            _ = try ChannelName(channelPrefix + "\(channels - 1)")
        } catch {
            throw ValidationError("--channel-prefix: \(error)")
        }
        for (name, rate) in [("--rate", rate), ("--connect-rate", connectRate)] {
            guard rate == 0 || (0.001...1_000_000).contains(rate) else {
                throw ValidationError("\(name) must be 0, or 0.001 to 1000000.")
            }
        }
        for (name, seconds) in [("--duration", duration), ("--connect-timeout", connectTimeout)] {
            try Seconds.check(name, seconds, to: 1_000_000)
        }
        for (name, seconds) in [("--warm-up", warmUp), ("--drain", drain)] {
            try Seconds.check(name, seconds, from: 0, to: 1_000_000)
        }
        guard rate == 0 || rate * duration >= 0.5 else {
            throw ValidationError("Nothing would be published: raise --rate or --duration.")
        }
        guard (EventStamp.maximumSize...10_240).contains(size) else {
            throw ValidationError("--size must be \(EventStamp.maximumSize) to 10240.")
        }
        guard (1...1000).contains(publishers) else { throw ValidationError("--publishers must be 1 to 1000.") }
    }

    var plan: LoadPlan {
        LoadPlan(
            connections: connections, channelCount: channels, subscriptions: subscriptions ?? channels,
            channelPrefix: channelPrefix, connectRate: connectRate, rate: rate, size: size, warmUp: .seconds(warmUp),
            duration: .seconds(duration), connectTimeout: .seconds(connectTimeout), drain: .seconds(drain),
            publishers: publishers)
    }
}
