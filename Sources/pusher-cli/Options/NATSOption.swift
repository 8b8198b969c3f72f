#if NATSRelay
    import ArgumentParser
    import EventRelay

    /// The servers of NATS, and how to log in there, for the commands around the relay.
    struct NATSOption: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Servers, separated by commas: nats://host:4222, tls://host. Default: $NATS_URL, or nats://127.0.0.1:4222.",
                valueName: "url"))
        var nats: String?

        @Option(
            help: ArgumentHelp(
                """
                A credentials file. Without one: $NATS_CREDS, $NATS_TOKEN, or $NATS_USER and $NATS_PASSWORD.
                """, valueName: "file"))
        var natsCredentials: String?

        @Option(help: ArgumentHelp("PEM file of the authorities to trust. Default: the system's.", valueName: "file"))
        var natsCAFile: String?

        @Option(
            help: ArgumentHelp(
                "The name that the servers' certificates must have. Default: that in the URL.", valueName: "name"))
        var natsServerName: String?

        @Option(help: ArgumentHelp("PEM file of this client's own certificate.", valueName: "file"))
        var natsCertificate: String?

        @Option(help: ArgumentHelp("PEM file of its private key.", valueName: "file"))
        var natsKey: String?

        @Flag(help: "Send everything in clear to another machine, passwords included.")
        var natsPlaintext = false

        @Option(help: "The stream of the events.")
        var stream = "EVENTS"

        @Option(help: "What the stream's subjects begin with.")
        var prefix = "ev"

        func validate() throws {
            guard (natsCertificate == nil) == (natsKey == nil) else {
                throw ValidationError("--nats-certificate and --nats-key are used together.")
            }
        }

        /// - Throws: `CommandFailure` with what of it cannot be used.
        func options() throws -> NATSOptions {
            var options = try NATSOptions(nats ?? Environment["NATS_URL"] ?? "nats://127.0.0.1:4222")
            if nats != nil, options.credentials != nil {
                StandardError.write("warning: the process list shows the password in --nats; use $NATS_URL instead")
            }
            if let file = natsCredentials ?? Environment["NATS_CREDS"] {
                options.credentials = .file(file)
            } else if let token = Environment["NATS_TOKEN"] {
                options.credentials = .token(token)
            } else if let user = Environment["NATS_USER"], let password = Environment["NATS_PASSWORD"] {
                options.credentials = .user(user, password: password)
            }
            if natsCAFile != nil || natsServerName != nil || natsCertificate != nil {
                options.tls = NATSOptions.TLS(
                    authorityFile: natsCAFile,
                    certificate: natsCertificate.flatMap { file in
                        natsKey.map { NATSOptions.TLS.Certificate(file: file, keyFile: $0) }
                    }, expectedHostName: natsServerName)
            }
            options.allowsPlaintext = natsPlaintext
            return options
        }
    }

    /// The same for those that own something.
    struct RelayOption: ParsableArguments {
        @OptionGroup var nats: NATSOption

        @Option(help: "The bucket that only relays of the same channels and accounts share.")
        var bucket = "RELAY"

        func options(name: String? = nil) throws -> EventRelayOptions {
            var options = EventRelayOptions(try nats.options(), name: name)
            (options.stream, options.prefix, options.bucket) = (nats.stream, nats.prefix, bucket)
            return options
        }
    }

    extension NATSError: ReportableError {
        var exitStatus: ExitStatus {
            switch kind {
            case .invalidArgument: .wrongUse
            case .authentication, .permission: .refused
            case .wrongLastSequence, .tooLarge, .differentSettings: .badData
            case .notConnected, .unreachable, .tls, .unsupportedServer, .noResponders, .timeout, .streamFull,
                .quotaExceeded, .notFound, .unavailable, .other:
                .unavailable
            @unknown default: .unavailable
            }
        }
    }
#endif
