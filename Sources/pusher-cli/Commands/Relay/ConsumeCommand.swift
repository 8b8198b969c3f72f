#if NATSRelay
    import ArgumentParser
    import EventRelay
    import Foundation
    import PusherSwift

    struct ConsumeCommand: AsyncParsableCommand, EndedBySignal {
        static let configuration = CommandConfiguration(
            commandName: "consume",
            abstract: "Print events of a stream of NATS JetStream, as relays have put them there.",
            discussion: """
                Runs until Ctrl-C, --count or --timeout. With --group, workers of the same name share the events, and the \
                servers keep their place: each event is printed at least once, and again if the worker that had it did not \
                get to write it. Without, every event is printed, and nobody keeps the place.

                Events that an earlier owner of a channel has written too late are left out, and counted at the end.

                Examples:
                  pusher-cli consume --channel price --json
                  pusher-cli consume --event changed --group billing --exec ./bill
                  pusher-cli consume 'ev.pusher.*.changed' --since 2h
                """)

        @Argument(
            help: ArgumentHelp(
                "Only messages of this subject of NATS, with its wildcards: ev.pusher.price.>. Default: all.",
                valueName: "subject"))
        var subject: String?

        @Option(help: ArgumentHelp("Only events of this name.", valueName: "event"))
        var event: String?

        @Option(
            help: ArgumentHelp(
                "Only events of this channel, such as price or matrix:!room:example.org.", valueName: "channel"))
        var channel: String?

        @Option(help: ArgumentHelp("Only events of pusher, matrix or pydio.", valueName: "source"))
        var source: String?

        @Option(
            help: ArgumentHelp(
                "Share the events with workers of the same group, which keeps its place.", valueName: "name"))
        var group: String?

        @Option(
            help: ArgumentHelp(
                "Where to begin: all, the number of an event, or a time: \(PastTime.forms). A group that exists goes on where "
                    + "it was. Default: with what comes now.", valueName: "start"))
        var since: ConsumeStart?

        @OptionGroup var nats: NATSOption
        @OptionGroup var stream: StreamOptions

        func validate() throws {
            guard subject == nil || (event == nil && channel == nil && source == nil) else {
                throw ValidationError("Give a subject, or --event, --channel and --source.")
            }
        }

        func run() async throws {
            var options = EventConsumerOptions()
            (options.stream, options.prefix) = (nats.stream, nats.prefix)
            (options.source, options.channel, options.group) = (source, channel, group)
            options.subject = subject
            if let since { options.start = since.start }
            let servers = try nats.options()
            let feed = ConsumerFeed(
                EventConsumer(nats: servers, options: options), event: event, serverName: "\(servers)")
            try await EventStream(feeds: [feed], mode: .events(named: []), options: stream).run().exit()
        }
    }

    /// Where to begin in a stream.
    struct ConsumeStart: ExpressibleByArgument, Sendable {
        let start: EventConsumerOptions.Start

        init?(argument: String) {
            if argument == "all" {
                start = .beginning
            } else if let sequence = UInt64(argument) {
                start = .sequence(sequence)
            } else if let time = PastTime(argument: argument) {
                start = .time(time.date)
            } else {
                return nil
            }
        }
    }
#endif
