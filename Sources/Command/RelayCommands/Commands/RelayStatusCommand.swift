#if NATSRelay
    import CommandKit
    import ArgumentParser
    import EventRelay
    import Foundation

    struct RelayStatusCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show who relays how much, and how full the stream is.",
            discussion: """
                A relay that has been silent for as long as its --takeover (20 seconds) is dead, and others take what \
                it had; it is shown for an hour. LAG is for how long a relay may have had something that the stream has not: \
                while nothing comes from a Pusher server, it grows until the next ping.

                Examples:
                  pusher-cli relay status
                  pusher-cli relay status --slots --json
                """)

        @Flag(help: "Show each slot, with its term and since when its owner has it.")
        var slots = false

        @OptionGroup var relay: RelayOption
        @OptionGroup var output: OutputOptions

        private static let interval = Duration.seconds(1)

        func run() async throws {
            let options = try relay.options()
            let before = try await RelayStatus(options)
            try await Task.sleep(for: Self.interval)
            let status = try await RelayStatus(options)
            var records = status.relays.filter { !$0.hasLeft }.map { relay in
                RelayStatusRecord(
                    relay, differs: status.relays.contains { $0.units != relay.units && $0.isAlive }, showsSlots: slots)
            }
            if !status.freeSlots.isEmpty { records.append(RelayStatusRecord(free: status.freeSlots)) }
            guard output.write(records) else { return }
            if status.unreadableRecords > 0 {
                let count = status.unreadableRecords
                StandardError.write(
                    """
                    warning: \(count == 1 ? "1 record" : "\(count) records") of bucket \(options.bucket) cannot be read: no relay \
                    wrote \(count == 1 ? "it" : "them")
                    """)
            }
            if let stream = status.stream {
                let rate = stream.lastSequence &- (before.stream?.lastSequence ?? stream.lastSequence)
                _ = output.write(RelayStreamRecord(stream, name: options.stream, rate: rate))
            } else {
                StandardError.write(
                    "warning: there is no stream \(options.stream): create it with pusher-cli relay setup")
            }
        }
    }
#endif
