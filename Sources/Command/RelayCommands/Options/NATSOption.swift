#if NATSRelay
    import CommandKit
    import ArgumentParser
    import EventRelay

    /// The NATS servers and credentials, for the commands of the relay.
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
            guard Self.isName(stream) else { throw ValidationError("--stream must be letters, digits, - and _.") }
            guard !stream.hasPrefix("KV_") else {
                throw ValidationError("--stream must be a stream of events, and \(stream) is a bucket.")
            }
            guard Self.isName(prefix) else { throw ValidationError("--prefix must be letters, digits, - and _.") }
        }

        /// Checks a subject to read from.
        func check(subject: String) throws {
            let words = subject.split(separator: ".", omittingEmptySubsequences: false)
            let isWellFormed = words.enumerated().allSatisfy { index, word in
                if word == "*" || word == ">" && index == words.count - 1 { return true }
                return !word.isEmpty && !word.contains { "*> \t\r\n".contains($0) }
            }
            guard isWellFormed else {
                throw ValidationError(
                    "The subject must be words with dots between them; * stands for a word, and > at the end for all that follow."
                )
            }
            guard words.first == ">" || words.first == "*" || words.first.map(String.init) == prefix else {
                throw ValidationError("The subject must begin with the prefix, \(prefix): see --prefix.")
            }
        }

        static func isName(_ text: String) -> Bool { text.wholeMatch(of: #/[A-Za-z0-9_-]{1,128}/#) != nil }

        /// - Throws: `CommandFailure` with the invalid setting.
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

    /// The options for commands that own something.
    struct RelayOption: ParsableArguments {
        @OptionGroup var nats: NATSOption

        @Option(help: "The bucket that only relays of the same channels and accounts share.")
        var bucket = "RELAY"

        func validate() throws {
            guard NATSOption.isName(bucket) else { throw ValidationError("--bucket must be letters, digits, - and _.") }
        }

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
