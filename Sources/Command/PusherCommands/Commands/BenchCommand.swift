import ArgumentParser
import CommandKit
import Foundation
import PusherHTTP
import PusherMockServer
import PusherSwift

struct BenchCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Put load on a server and measure event latency.",
        discussion: """
            Opens connections, publishes events through the HTTP API, and measures the time from when an event was due \
            to be sent until each callback receives it. Events are due at a steady rate, whether or not earlier ones \
            are done. If the server stalls, the time that due events wait counts (no coordinated omission). The send \
            delay is the part of that time before the request was made: if it is large, the HTTP API or this machine \
            cannot keep up. With --rate 0, events are due when they are sent.

            Exit status 75: deliveries are missing after --drain, or events could not be sent by then; 69: the HTTP \
            API failed in another way. Ctrl-C ends the test early, prints the summary, and exits with 130. On a hosted \
            service, load costs money.

            Examples:
              pusher-cli bench --embedded --connections 1000 --rate 50
              pusher-cli bench --cluster eu --channels 20 --hdr latency.hgrm
            """)

    @OptionGroup var load: LoadOptions

    @Flag(help: "Start a mock server in this process and test that. It shares the processors with the load.")
    var embedded = false

    @Option(
        help: ArgumentHelp(
            "Write the latency percentiles, in the format that HdrHistogram plotters read.", valueName: "file"),
        completion: .file())
    var hdr: String?

    @Flag(help: "Print one JSON object per line: progress, then a summary.")
    var json = false

    @Option(help: "Seconds between progress reports.")
    var interval = 1.0

    @OptionGroup var application: ApplicationOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        try Seconds.check("--interval", interval, from: 0.01, to: 1_000_000)
        let (address, credentials) = (connection.address, connection.credentials)
        let names = [address.host, address.cluster, credentials.key, credentials.secret, credentials.context]
        guard !embedded || (names.allSatisfy { $0 == nil } && address.port == nil) else {
            throw ValidationError("--embedded takes no --host, --port, --cluster, --key, --secret or --context.")
        }
    }

    func run() async throws {
        let sockets = load.connections + load.publishers
        if embedded {
            try DescriptorLimit.require(sockets: 2 * sockets)
            try await LoadTarget.withEmbedded(measure).exit()
        } else {
            let target = try LoadTarget(
                connection, appID: application.appId, channels: [load.channelPrefix + "0"])
            try DescriptorLimit.require(sockets: sockets)
            try await measure(target).exit()
        }
    }

    private func measure(_ target: LoadTarget) async throws -> ExitStatus {
        try write("")  // detects an unwritable file before the test
        let test = LoadTest(load.plan, on: target)
        let progress = LoadProgress(test: test, asJSON: json, interval: .seconds(interval))
        // Whether the work was completed: `nil` after a signal, false if the reader of the progress is gone.
        let isFinished: Bool?
        do {
            isFinished = try await SignalWatch.interrupting { try await progress.during { try await test.run() } }
            if isFinished != true { await test.drain(for: .seconds(1)) }
        } catch {
            StatusLine.erase()
            await test.close()
            throw error
        }
        let report = test.report(isInterrupted: isFinished != true)
        StatusLine.erase()
        if json {
            _ = StandardOutput.write(json: report.summaryJSON)
        } else {
            for line in report.summaryText.components(separatedBy: "\n") {
                _ = StandardOutput.write(TerminalText(line))
            }
        }
        try write(PercentileDistribution(of: report.counts.latency).text)
        await test.close()
        return isFinished == false ? .done : report.status
    }

    private func write(_ text: String) throws {
        guard let hdr else { return }
        do {
            try Data(text.utf8).write(to: URL(filePath: hdr))
        } catch {
            throw CommandFailure(.unwritable, "--hdr \(hdr) cannot be written")
        }
    }
}
