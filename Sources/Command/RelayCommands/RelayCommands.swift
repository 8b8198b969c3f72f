package import ArgumentParser

#if NATSRelay
    /// The commands of the relay and its consumers; none without NATS.
    package let relayCommands: [any ParsableCommand.Type] = [
        RelayCommand.self, ConsumeCommand.self, PublishFromCommand.self,
    ]
#else
    /// The commands of the relay and its consumers; none without NATS.
    package let relayCommands: [any ParsableCommand.Type] = []
#endif
