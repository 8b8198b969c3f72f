#if NATSRelay
    import ArgumentParser

    struct RelayCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "relay",
            abstract: "Move events into a stream of NATS JetStream, together with other machines.",
            discussion: """
                Without a subcommand's name, relays the channels that are named.

                Examples:
                  pusher-cli relay setup
                  pusher-cli relay price orders
                  pusher-cli relay price --nats tls://nats1.example.org --name machine-1
                  pusher-cli relay status
                """,
            subcommands: [RelayRunCommand.self, RelaySetupCommand.self, RelayStatusCommand.self],
            defaultSubcommand: RelayRunCommand.self)
    }
#endif
