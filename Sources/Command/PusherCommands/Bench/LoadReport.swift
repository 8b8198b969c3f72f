import Basics
import CommandKit
import Foundation

/// The results of a load test, interim or final.
struct LoadReport {
    let plan: LoadPlan
    let counts: LoadCounts
    /// The server under load.
    let server: String
    /// Whether the test was ended early.
    let isInterrupted: Bool
    private let publishing: Duration
    private let elapsed: Duration

    init(plan: LoadPlan, counts: LoadCounts, server: String, isInterrupted: Bool = false) {
        self.plan = plan
        self.counts = counts
        self.server = server
        self.isInterrupted = isInterrupted
        let now = MonotonicInstant.now
        publishing = counts.publishing(at: now)
        elapsed = counts.elapsed(at: now)
    }

    /// The exit status, which depends on whether everything arrived.
    var status: ExitStatus {
        if isInterrupted { return .interrupted }
        if counts.lost > 0 || counts.unsent > 0 { return .timedOut }
        return counts.failed > 0 ? .unavailable : .done
    }

    private var publishedPerSecond: Double { Self.rate(counts.published, publishing) }

    private var deliveredPerSecond: Double { Self.rate(counts.delivered, elapsed) }

    private static func rate(_ count: Int, _ duration: Duration) -> Double {
        duration > .zero ? Double(count) / (duration / .seconds(1)) : 0
    }

    // MARK: JSON

    var progressJSON: String {
        var line = JSONLine(type: "progress")
        line.add("phase", counts.phase.rawValue)
        addCounts(to: &line)
        return line.text
    }

    var summaryJSON: String {
        var line = JSONLine(type: "summary")
        line.add("server", server)
        line.add("connections", plan.connections)
        line.add("channels", plan.channelCount)
        line.add("subscriptions", plan.connections * plan.subscriptions)
        line.add("rate", json: Self.decimal(plan.rate))
        line.add("size", plan.size)
        line.add("interrupted", json: "\(isInterrupted)")
        addCounts(to: &line)
        line.add("lost", counts.lost)
        line.add("connect_ms", json: Self.json(counts.connecting))
        line.add("subscribe_ms", json: Self.json(counts.subscribing))
        line.add("request_ms", json: Self.json(counts.requests))
        line.add("delay_ms", json: Self.json(counts.delay))
        return line.text
    }

    private func addCounts(to line: inout JSONLine) {
        line.add("elapsed", json: Self.decimal(elapsed / .seconds(1)))
        line.add("connected", counts.connected)
        line.add("subscribed", counts.subscribed)
        line.add("published", counts.published)
        line.add("failed", counts.failed)
        line.add("unsent", counts.unsent)
        line.add("expected", counts.expected)
        line.add("delivered", counts.delivered)
        line.add("duplicates", counts.duplicates)
        line.add("out_of_order", counts.outOfOrder)
        line.add("errors", counts.errors)
        line.add("reconnects", counts.reconnects)
        line.add("delivered_per_second", json: Self.decimal(deliveredPerSecond))
        line.add("published_per_second", json: Self.decimal(publishedPerSecond))
        line.add("latency_ms", json: Self.json(counts.latency))
    }

    /// Returns percentiles in milliseconds; `nil` if there are no values.
    private static func json(_ histogram: LatencyHistogram) -> String? {
        guard histogram.totalCount > 0 else { return nil }
        let members =
            percentiles.map {
                ($0.name.replacing(".", with: "_"), decimal(Double(histogram.value(atPercentile: $0.level)) / 1000))
            }
            + [("max", decimal(Double(histogram.max) / 1000)), ("mean", decimal(histogram.mean / 1000))]
        return "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }

    private static let percentiles: [(name: String, level: Double)] = [
        ("p50", 50), ("p90", 90), ("p99", 99), ("p99.9", 99.9),
    ]

    // MARK: Text

    /// One line of progress.
    var progressText: String {
        switch counts.phase {
        case .connecting: "connecting: \(counts.connected) of \(plan.connections)"
        case .warmUp: "warming up"
        case .measuring, .draining:
            """
            \(Int((elapsed / .seconds(1)).rounded())) s  published \(counts.published)  delivered \(counts.delivered)  \
            p50 \(Self.milliseconds(counts.latency.value(atPercentile: 50)))  \
            p99 \(Self.milliseconds(counts.latency.value(atPercentile: 99)))
            """
        }
    }

    var summaryText: String {
        let subscriptions = plan.connections * plan.subscriptions
        let rows = [
            ("server", server),
            (
                "load",
                """
                connections \(plan.connections), subscriptions \(subscriptions), channels \(plan.channelCount), \
                events a second \(plan.rate == 0 ? "as many as possible" : Self.tenths(plan.rate))
                """
            ),
            (
                "published",
                """
                \(counts.published) in \(Self.tenths(publishing / .seconds(1))) s, \
                \(Self.tenths(publishedPerSecond)) a second, \(plan.size) bytes each; \
                failed \(counts.failed), unsent \(counts.unsent)
                """
            ),
            (
                "delivered",
                """
                \(counts.delivered) of \(counts.expected), \(Self.tenths(deliveredPerSecond)) a second; \
                lost \(counts.lost), duplicate \(counts.duplicates), out of order \(counts.outOfOrder)
                """
            ),
            ("trouble", "errors \(counts.errors), reconnects \(counts.reconnects)"),
            ("latency", Self.text(counts.latency)),
            ("  send delay", Self.text(counts.delay)),
            ("HTTP request", Self.text(counts.requests)),
            ("connect", Self.text(counts.connecting)),
            ("subscribe", Self.text(counts.subscribing)),
        ]
        return rows.map { name, value in
            name + String(repeating: " ", count: 14 - name.count) + value
        }.joined(separator: "\n") + (isInterrupted ? "\ninterrupted" : "")
    }

    private static func text(_ histogram: LatencyHistogram) -> String {
        guard histogram.totalCount > 0 else { return "-" }
        let parts = Self.percentiles.map { "\($0.name) \(milliseconds(histogram.value(atPercentile: $0.level)))" }
        return (parts + ["max \(milliseconds(histogram.max))"]).joined(separator: "  ") + " ms"
    }

    private static func milliseconds(_ microseconds: Int64) -> String {
        String(format: "%.3f", Double(microseconds) / 1000)
    }

    private static func tenths(_ number: Double) -> String { String(format: "%.1f", number) }

    private static func decimal(_ number: Double) -> String { String(format: "%.3f", number) }
}
