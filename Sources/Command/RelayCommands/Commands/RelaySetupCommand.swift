#if NATSRelay
    import CommandKit
    import ArgumentParser
    import EventRelay

    struct RelaySetupCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "setup", abstract: "Create the streams and the bucket that relays need.",
            discussion: """
                Creates a stream for events, one for dead letters, which no worker of a group could handle (DEAD, with subjects \
                that begin with dead), and a bucket for what relays know of each other. Leaves what exists as it is, and says \
                how it differs. Removes what relays that ended more than an hour ago have left in the bucket.

                The limits of all streams of a server must stay below \
                the server's own: a server whose storage is used up takes nothing more until it is restarted with more.

                Examples:
                  pusher-cli relay setup
                  pusher-cli relay setup --replicas 3 --max-bytes 20000000000
                """)

        @Option(help: ArgumentHelp("How many servers keep each event: 3 in a cluster, or 1.", valueName: "count"))
        var replicas = 1

        @Option(help: ArgumentHelp("Bytes that the stream may take.", valueName: "bytes"))
        var maxBytes: Int64 = 1 << 30

        @Option(help: ArgumentHelp("Days that events stay.", valueName: "days"))
        var maxAge = 7

        @Flag(
            help: "Let the oldest events give way when the stream is full, read or not, instead of refusing new ones.")
        var discardOldest = false

        @OptionGroup var relay: RelayOption

        func validate() throws {
            guard (1...5).contains(replicas) else { throw ValidationError("--replicas must be 1 to 5.") }
            guard maxBytes >= 1 << 20 else { throw ValidationError("--max-bytes must be 1048576 or more.") }
            guard (1...3650).contains(maxAge) else { throw ValidationError("--max-age must be 1 to 3650.") }
        }

        func run() async throws {
            var setup = RelaySetup()
            (setup.replicas, setup.maximumBytes, setup.discardsOldest) = (replicas, maxBytes, discardOldest)
            setup.maximumAge = .seconds(maxAge * 86_400)
            if discardOldest {
                StandardError.write("warning: when the stream is full, events that nobody has read are lost")
            }
            var differs = false
            let options = try relay.options()
            for result in try await setup.run(options) {
                switch result.outcome {
                case .created: StandardError.write("created stream \(result.stream)")
                case .existed: StandardError.write("stream \(result.stream) exists, with these settings")
                case .differs(let differences):
                    differs = true
                    StandardError.write(
                        "stream \(result.stream) exists and is left as it is: \(differences.joined(separator: ", "))")
                }
            }
            do {
                let count = try await setup.removeDeadRelays(options)
                if count > 0 {
                    StandardError.write(
                        "removed the records of \(count == 1 ? "1 relay" : "\(count) relays") that ended over an hour ago"
                    )
                }
            } catch {
                StandardError.write("warning: could not remove the records of old relays: \(Complaint.text(error))")
            }
            if differs { throw CommandFailure(.badData, "a stream has other settings than those that were asked for") }
        }
    }
#endif
