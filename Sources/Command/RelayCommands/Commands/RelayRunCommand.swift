#if NATSRelay
    import PydioCommands
    import MatrixCommands
    import CommandKit
    import ArgumentParser
    import EventRelay
    import MatrixSDK
    import PusherSwift
    import PydioSDK

    struct RelayRunCommand: AsyncParsableCommand, EndedBySignal, ArgumentChecking {
        static let configuration = CommandConfiguration(
            commandName: "run", abstract: "Relay channels, a Matrix account and workspaces (default).",
            discussion: """
                Run it on several machines with the same channels and accounts: each is relayed by one of them, and by \
                another one seconds after that has died. On Ctrl-C or SIGTERM the others go on at once. What may have \
                been missed of channels meanwhile is told in the stream; of Matrix and Pydio nothing is.

                While the stream is full, or the servers do not answer, events wait here, sources are read no further, and \
                standard error says so each minute. If the user may not publish to the stream, or the Pusher server refuses \
                the application, the relay gives back what it has and exits with 77.
                """)

        @Argument(help: ArgumentHelp("Channels to relay.", valueName: "channel"))
        var channels: [String] = []

        @Flag(help: "Also relay the rooms of the Matrix account that you are logged in to.")
        var matrix = false

        @Option(
            help: ArgumentHelp(
                "Also relay this Pydio workspace: id, slug or label. May be repeated.", valueName: "workspace"))
        var pydio: [String] = []

        @Option(
            help: ArgumentHelp(
                "What this relay is called: another name on each machine. Default: the host's name.", valueName: "name")
        )
        var name: String?

        @Option(
            help: ArgumentHelp(
                "After how many seconds of silence others take what this relay has, 2 to 3600. With less than 15, it gives up "
                    + "everything each time the NATS servers elect a leader. Default: 20.", valueName: "seconds"))
        var takeover: Double?

        @OptionGroup var relay: RelayOption
        @OptionGroup var user: UserOptions
        @OptionGroup var connection: ConnectionOptions

        func checkArguments() throws {
            try NameArguments.subscribable(channels)
            guard !channels.isEmpty || matrix || !pydio.isEmpty else {
                throw ValidationError("There is nothing to relay: name channels, or give --matrix or --pydio.")
            }
            guard (2...3600).contains(takeover ?? 2) else { throw ValidationError("--takeover must be 2 to 3600.") }
            guard Set(channels).count == channels.count else { throw ValidationError("A channel is named twice.") }
        }

        func run() async throws {
            var options = try relay.options(name: name)
            if let takeover {
                options.observerWait = .seconds(takeover)
                options.holderLimit = options.observerWait * 3 / 4
                options.heartbeatInterval = options.holderLimit / 5
            }
            let account = try pydio.isEmpty ? nil : pydioAccount()
            defer { account?.keepSession() }
            let client = try channels.isEmpty ? nil : connection.client(as: user, of: channels)
            let relay = EventRelay(options, sources: try await sources(client, account))
            try await RelayRun(pusher: client, isPusherAlone: !matrix && pydio.isEmpty).run(relay)
        }

        private func sources(_ client: Pusher?, _ account: PydioAccount?) async throws -> [any RelaySource] {
            var sources: [any RelaySource] = []
            if let client {
                sources.append(
                    PusherRelaySource(client, app: try connection.settings().key ?? "", channels: channels))
            }
            if matrix {
                let rest = try MXRestClientOptions(connection.network)
                sources.append(MatrixRelaySource(client: try MatrixAccount(rest).client))
            }
            if let account {
                let all = try await account.working { try await $0.workspaces() }
                for name in pydio {
                    sources.append(
                        PydioRelaySource(
                            client: account.client, workspaceId: try PydioWorkspace.named(name, among: all).id))
                }
            }
            return sources
        }

        private func pydioAccount() throws -> PydioAccount {
            PydioAccount(
                try PydioLoginFile().login(nil),
                options: try PydioClientOptions(connection.network))
        }
    }
#endif
