#if NATSRelay
    import CommandKit
    import ArgumentParser
    import EventRelay

    struct PublishFromCommand: AsyncParsableCommand, EndedBySignal, ArgumentChecking {
        static let configuration = CommandConfiguration(
            commandName: "publish-from", abstract: "Publish events of a stream of NATS JetStream to a Pusher server.",
            discussion: """
                Runs until Ctrl-C. Each event is published at least once, and the servers keep the place of the group: the \
                next run goes on there. An event that was delivered before, and may be published twice, is named. One that \
                the server does not take, such as an event of a Matrix room without --channel, is named and left out; then \
                the exit status is 65.

                Don't publish to a server whose channels a relay moves into the same stream: the events would go round in a \
                circle.

                Examples:
                  pusher-cli publish-from 'ev.pusher.>' --since all
                  pusher-cli publish-from 'ev.matrix.>' --channel rooms
                """)

        @Argument(
            help: ArgumentHelp(
                "The subject of NATS, with its wildcards: ev.pusher.price.>.", valueName: "subject"))
        var subject: String

        @Option(help: "Publish everything to this channel. Default: the channel of each event.")
        var channel: String?

        @Option(help: ArgumentHelp("The group whose place the servers keep.", valueName: "name"))
        var group = "publish-from"

        @Option(
            help: ArgumentHelp(
                "Where a new group begins: all, the number of an event, or a time: \(PastTime.forms). Default: with what "
                    + "comes now.", valueName: "start"), transform: { try ConsumeStart($0) })
        var since: ConsumeStart?

        @OptionGroup var nats: NATSOption
        @OptionGroup var server: HTTPOptions
        @OptionGroup var masterKey: MasterKeyOption

        func checkArguments() throws {
            if let channel { try NameArguments.channel(channel) }
            try nats.check(subject: subject)
            guard !group.isEmpty else { throw ValidationError("--group must not be empty.") }
        }

        /// The maximum number of events in flight; those that wait longer would be delivered again.
        private static let flight = 100

        func run() async throws {
            var options = EventConsumerOptions()
            (options.stream, options.prefix, options.subject) = (nats.stream, nats.prefix, subject)
            (options.group, options.maximumAckPending) = (group, Self.flight)
            if let since { options.start = since.start }
            let publisher = StreamPublisher(
                EventConsumer(nats: try nats.options(), options: options),
                api: try server.api(publishingOn: channel.map { [$0] } ?? [], masterKey, change: "publishing to"),
                channel: channel)
            try await SignalWatch.stopping(publisher.stop) { try await publisher.run() }
        }
    }
#endif
