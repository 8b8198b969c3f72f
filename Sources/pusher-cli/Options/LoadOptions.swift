import ArgumentParser
import PusherHTTP
import PusherProtocol

/// How much load, of what kind, for how long.
struct LoadOptions: ParsableArguments {
    @Option(help: "Connections.")
    var connections = 1

    @Option(help: "Channels, all together. Events go to them in turn.")
    var channels = 1

    @Option(
        help: "Channels that each connection follows; connections are spread evenly. Default: all.")
    var subscriptions: Int?

    @Option(
        help: """
            What the channels' names start with, before a number. It says their type: private-, presence-, \
            private-encrypted-, cache-.
            """)
    var channelPrefix = "bench-"

    @Option(help: "Events published in a second, over all channels; 0 is as many as the HTTP API takes.")
    var rate = 10.0

    @Option(help: "Seconds of measurement.")
    var duration = 10.0

    @Option(help: "Seconds of publishing before that, which do not count.")
    var warmUp = 0.0

    @Option(help: "Bytes of each event's data, \(EventStamp.maximumSize) to 10240.")
    var size = 100

    @Option(help: "Connections opened in a second; 0 opens all at once.")
    var connectRate = 500.0

    @Option(help: "Seconds to wait, once all are opened, for connections and subscriptions.")
    var connectTimeout = 30.0

    @Option(help: "Seconds to wait at the end for what is late.")
    var drain = 5.0

    @Option(help: "HTTP requests under way at a time. A channel's events wait for each other, to stay in order.")
    var publishers = 8

    func validate() throws {
        guard (1...100_000).contains(connections) else { throw ValidationError("--connections is 1 to 100000.") }
        guard (1...100_000).contains(channels) else { throw ValidationError("--channels is 1 to 100000.") }
        if let subscriptions {
            guard (1...channels).contains(subscriptions) else {
                throw ValidationError("--subscriptions is 1 to the number of channels.")
            }
            guard connections * subscriptions >= channels else {
                throw ValidationError("Nobody would follow some of the channels: raise --subscriptions.")
            }
        }
        guard connections * (subscriptions ?? channels) <= 10_000_000 else {
            throw ValidationError("These are more than 10 million subscriptions: lower --subscriptions.")
        }
        do {
            _ = try ChannelName(channelPrefix + "\(channels - 1)")
        } catch {
            throw ValidationError("--channel-prefix: \(error)")
        }
        for (name, rate) in [("--rate", rate), ("--connect-rate", connectRate)] {
            guard rate == 0 || (0.001...1_000_000).contains(rate) else {
                throw ValidationError("\(name) is 0, or 0.001 to 1000000.")
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
            throw ValidationError("--size is \(EventStamp.maximumSize) to 10240.")
        }
        guard (1...1000).contains(publishers) else { throw ValidationError("--publishers is 1 to 1000.") }
    }

    var plan: LoadPlan {
        LoadPlan(
            connections: connections, channelCount: channels, subscriptions: subscriptions ?? channels,
            channelPrefix: channelPrefix, connectRate: connectRate, rate: rate, size: size, warmUp: .seconds(warmUp),
            duration: .seconds(duration), connectTimeout: .seconds(connectTimeout), drain: .seconds(drain),
            publishers: publishers)
    }
}
