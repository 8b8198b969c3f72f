package import ArgumentParser

#if NATSRelay
    /// The commands for the relay and its consumers; empty without NATS.
    package let relayCommands: [any ParsableCommand.Type] = [
        RelayCommand.self, ConsumeCommand.self, PublishFromCommand.self,
    ]
#else
    /// The commands for the relay and its consumers; empty without NATS.
    package let relayCommands: [any ParsableCommand.Type] = []
#endif
