import Foundation

/// The text format of HdrHistogram's plotters (`.hgrm`), with values in milliseconds.
struct PercentileDistribution {
    /// The number of levels per halving of the distance to 100 %.
    private static let ticksPerHalfDistance = 5.0

    private let histogram: LatencyHistogram

    init(of histogram: LatencyHistogram) {
        self.histogram = histogram
    }

    var text: String {
        var lines = ["       Value     Percentile TotalCount 1/(1-Percentile)", ""]
        for row in rows {
            let line = String(
                format: "%12.3f %2.12f %10lld", milliseconds(row.value), row.percentile / 100, row.total)
            let distance = row.percentile == 100 ? "" : String(format: " %14.2f", 1 / (1 - row.percentile / 100))
            lines.append(line + distance)
        }
        lines.append(
            String(
                format: "#[Mean    = %12.3f, StdDeviation   = %12.3f]", histogram.mean / 1000,
                histogram.standardDeviation / 1000))
        lines.append(
            String(
                format: "#[Max     = %12.3f, Total count    = %12lld]", milliseconds(histogram.max),
                histogram.totalCount))
        lines.append(
            String(
                format: "#[Buckets = %12d, SubBuckets     = %12d]", LatencyHistogram.bucketCount,
                LatencyHistogram.subBucketCount))
        return lines.joined(separator: "\n") + "\n"
    }

    /// The percentile levels, which approach 100, each with the first value that reaches it.
    private var rows: [(value: Int64, percentile: Double, total: Int64)] {
        var rows: [(value: Int64, percentile: Double, total: Int64)] = []
        var level = 0.0
        for step in histogram.steps {
            while level <= 100 * Double(step.total) / Double(histogram.totalCount) {
                rows.append((step.value, level, step.total))
                let next = level + 100 / (Self.ticksPerHalfDistance * pow(2, floor(log2(100 / (100 - level))) + 1))
                guard step.total < histogram.totalCount else { break }
                level = next
            }
        }
        if let last = histogram.steps.last { rows.append((last.value, 100, last.total)) }
        return rows
    }

    private func milliseconds(_ microseconds: Int64) -> Double { Double(microseconds) / 1000 }
}
