#if NATSRelay
    import CommandKit
    import ArgumentParser
    import EventRelay
    import Foundation
    import PusherSwift

    struct ConsumeCommand: AsyncParsableCommand, EndedBySignal, ArgumentChecking {
        static let configuration = CommandConfiguration(
            commandName: "consume",
            abstract: "Print events of a stream of NATS JetStream, as relays have put them there.",
            discussion: """
                Runs until Ctrl-C, --count or --timeout. With --group, workers with the same group share the events, and the \
                servers keep their place: each event is printed at least once, and again if the worker that had it did not \
                get to write it. Without --group, every event is printed, and nobody keeps the place.

                With --group and --exec, an event is done when its command exits with 0. If the command fails, the event is \
                delivered again after 1, 2, 4 and at last 300 seconds, and becomes a dead letter after --dead-after tries: \
                --dead-letters prints those of the group. While a command runs, no other worker gets its event. At Ctrl-C, \
                commands that run are finished; what has not begun goes to other workers.

                Times are those of the events. Gaps tell when events of a channel may be missing; with --event they are not \
                shown. Events that an earlier owner of a channel wrote too late are left out, and counted at the end.

                Examples:
                  pusher-cli consume --channel price --json
                  pusher-cli consume --event changed --group billing --exec ./bill
                  pusher-cli consume --event changed --group billing --dead-letters
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
                    + "it was. Default: with what comes now.", valueName: "start"), transform: { try ConsumeStart($0) })
        var since: ConsumeStart?

        @Option(
            help: ArgumentHelp(
                "With --group and --exec: after this many deliveries, an event whose command fails becomes a dead letter. "
                    + "Default: 10.", valueName: "count"))
        var deadAfter: Int?

        @Option(
            help: ArgumentHelp(
                "With --group: after this many seconds, the event of a worker that has died is delivered again. A group keeps "
                    + "what it was created with. Default: 30.", valueName: "seconds"))
        var ackWait: Double?

        @Flag(
            help: """
                With --group: print the events that became dead letters, from the oldest on or --since. Use the --event that \
                the group's workers use.
                """)
        var deadLetters = false

        @OptionGroup var nats: NATSOption
        @OptionGroup var stream: StreamOptions

        private static let sources = ["pusher", "matrix", "pydio"]

        func checkArguments() throws {
            guard subject == nil || (event == nil && channel == nil && source == nil) else {
                throw ValidationError("Give a subject, or --event, --channel and --source.")
            }
            if let source, !Self.sources.contains(source) {
                throw ValidationError("--source must be pusher, matrix or pydio, not “\(source)”.")
            }
            for (name, value) in [("--event", event), ("--channel", channel), ("--group", group)] where value == "" {
                throw ValidationError("\(name) must not be empty.")
            }
            if let subject { try nats.check(subject: subject) }
            guard deadAfter == nil || group != nil && stream.exec != nil else {
                throw ValidationError("--dead-after needs --group and --exec.")
            }
            guard !deadLetters || group != nil && deadAfter == nil && ackWait == nil else {
                throw ValidationError(
                    "--dead-letters needs --group, and goes with neither --dead-after nor --ack-wait.")
            }
            guard deadAfter ?? 1 >= 1 else { throw ValidationError("--dead-after must be 1 or more.") }
            guard ackWait == nil || group != nil else { throw ValidationError("--ack-wait needs --group.") }
            guard (0.5...86_400).contains(ackWait ?? 1) else {
                throw ValidationError("--ack-wait must be 0.5 to 86400.")
            }
        }

        func run() async throws {
            var options = EventConsumerOptions()
            (options.stream, options.prefix) = (nats.stream, nats.prefix)
            (options.source, options.channel, options.group) = (source, channel, group)
            options.subject = subject
            if deadLetters { options = try options.forDeadLetters(event: event) }
            if let since { options.start = since.start }
            if let ackWait { options.ackWait = .seconds(ackWait) }
            let tries = deadAfter ?? options.maximumDeliveries ?? .max
            options.maximumDeliveries = tries
            var commands: ConsumerFeed.Commands?
            if stream.exec != nil {
                commands = ConsumerFeed.Commands(jobs: stream.jobs ?? 1, maximumDeliveries: tries)
                options.prefetch = 0
            }
            let servers = try nats.options()
            let feed = ConsumerFeed(
                EventConsumer(nats: servers, options: options), options, event: event, commands: commands,
                serverName: "\(servers)")
            try await EventStream(feeds: [feed], mode: .events(named: []), options: stream).run().exit()
        }
    }

    /// The position at which to start reading a stream.
    struct ConsumeStart: Sendable {
        let start: EventConsumerOptions.Start

        init(_ argument: String) throws {
            if argument == "all" {
                start = .beginning
            } else if let sequence = UInt64(argument) {
                start = .sequence(sequence)
            } else {
                start = .time(try PastTime(argument).date)
            }
        }
    }
#endif
