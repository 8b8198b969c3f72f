import ArgumentParser
import Foundation
import PusherHTTP
import PusherMockServer
import PusherSwift

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Put load on a server, and measure how long events take.",
        discussion: """
            Opens connections, publishes events through the HTTP API, and measures the time from the moment at which \
            an event was meant to be sent to each callback that gets it. Events are due at a steady rate, whether or \
            not the earlier ones are done: when the server stalls, the wait of those that are due meanwhile counts (no \
            coordinated omission). The send delay is how much of that time had passed before the request was made: a \
            large one means that the HTTP API, or this machine, does not keep up. With --rate 0 events are due when \
            they are sent.

            Status 75: deliveries are missing after --drain, or events could not be sent by then; 69: the HTTP API \
            failed otherwise. Ctrl-C ends early, with a summary and 0. On a hosted service, load costs money.

            Examples:
              pusher-cli bench --embedded --connections 1000 --rate 50
              pusher-cli bench --cluster eu --channels 20 --hdr latency.hgrm
            """)

    @OptionGroup var load: LoadOptions

    @Flag(help: "Start a mock server in this process, and load that. It takes its share of the same processors.")
    var embedded = false

    @Option(
        help: ArgumentHelp(
            "Write the percentiles of the latency, as HdrHistogram's plotters read them.", valueName: "file"),
        completion: .file())
    var hdr: String?

    @Flag(help: "Print one JSON object a line: progress, then a summary.")
    var json = false

    @Option(help: "Seconds from one report of the progress to the next.")
    var interval = 1.0

    @OptionGroup var server: HTTPOptions

    func validate() throws {
        try Seconds.check("--interval", interval, from: 0.01, to: 1_000_000)
        let connection = server.connection
        let names = [connection.host, connection.cluster, connection.credentials.key, connection.credentials.secret]
        guard !embedded || (names.allSatisfy { $0 == nil } && connection.port == nil) else {
            throw ValidationError("--embedded takes no --host, --port, --cluster, --key or --secret.")
        }
    }

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)  // a reader that leaves shows as a failed write
        try await ExitStatus.reporting {
            let sockets = load.connections + load.publishers
            if embedded {
                try DescriptorLimit.require(sockets: 2 * sockets)
                try await LoadTarget.withEmbedded(measure).exit()
            } else {
                let target = try LoadTarget(server)
                try DescriptorLimit.require(sockets: sockets)
                try await measure(target).exit()
            }
        }
    }

    private func measure(_ target: LoadTarget) async throws -> ExitStatus {
        try write("")  // better to know now than in the end
        let test = LoadTest(load.plan, on: target)
        let progress = LoadProgress(test: test, asJSON: json, interval: .seconds(interval))
        let isFinished: Bool
        do {
            isFinished =
                try await SignalWatch.interrupting { try await progress.during { try await test.run() } } ?? false
            if !isFinished { await test.drain(for: .seconds(1)) }
        } catch {
            StatusLine.erase()
            await test.close()
            throw error
        }
        let report = test.report(isInterrupted: !isFinished)
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
        return report.status
    }

    private func write(_ text: String) throws {
        guard let hdr else { return }
        do {
            try Data(text.utf8).write(to: URL(filePath: hdr))
        } catch {
            throw CommandFailure(.badData, "cannot write \(hdr)")
        }
    }
}
