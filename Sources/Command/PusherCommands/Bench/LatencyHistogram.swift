import Basics

/// Counts durations like HdrHistogram: from 1 µs to an hour, with a precision of a thousandth, in constant memory.
///
///     value      0 …… 2047 | 2048 … 4095 | 4096 … 8191 | …
///     step       1 µs      | 2 µs        | 4 µs        | …
///     counts     2048      | 1024        | 1024        | …
struct LatencyHistogram: Sendable {
    /// The longest distinguishable duration, in microseconds. Longer ones count as this.
    static let highestTrackable: Int64 = 3_600_000_000
    /// Buckets double in width. Each is divided into `subBucketCount` equal parts; all but the first bucket only use
    /// the upper half.
    static let bucketCount = 22
    static let subBucketCount = 2048
    private static let halfCount = subBucketCount / 2

    private var counts = [Int64](repeating: 0, count: (bucketCount + 1) * halfCount)
    private(set) var totalCount: Int64 = 0
    private var highestRecorded: Int64 = 0

    mutating func record(_ duration: Duration) {
        record(microseconds: duration.wholeNanoseconds / 1000)
    }

    /// A negative value counts as 0.
    mutating func record(microseconds: Int64) {
        let value = Swift.min(Swift.max(microseconds, 0), Self.highestTrackable)
        counts[Self.index(of: value)] += 1
        totalCount += 1
        highestRecorded = Swift.max(highestRecorded, value)
    }

    // MARK: Recorded values, in microseconds

    /// The largest value at the histogram's precision; 0 if there is none.
    var max: Int64 { totalCount == 0 ? 0 : Self.highestEquivalent(of: highestRecorded) }

    var mean: Double {
        totalCount == 0 ? 0 : sum { Double($0) } / Double(totalCount)
    }

    var standardDeviation: Double {
        guard totalCount > 0 else { return 0 }
        let mean = mean
        return (sum { (Double($0) - mean) * (Double($0) - mean) } / Double(totalCount)).squareRoot()
    }

    /// Returns the value that `percentile` (0 to 100) of all values do not exceed; 0 if there is none.
    func value(atPercentile percentile: Double) -> Int64 {
        // Round down one step, so that rounding errors do not reach the next value.
        let share = Swift.min(Swift.max(percentile.nextDown, 0), 100) / 100
        let wanted = Swift.max(Int64((share * Double(totalCount)).rounded(.up)), 1)
        var total: Int64 = 0
        for (index, count) in counts.enumerated() where count > 0 {
            total += count
            guard total >= wanted else { continue }
            let value = Self.lowestValue(at: index)
            return percentile == 0 ? value : Self.highestEquivalent(of: value)
        }
        return 0
    }

    /// The recorded values in ascending order: the highest equivalent value, and the cumulative count.
    var steps: [(value: Int64, total: Int64)] {
        var total: Int64 = 0
        var steps: [(value: Int64, total: Int64)] = []
        for (index, count) in counts.enumerated() where count > 0 {
            total += count
            steps.append((Self.highestEquivalent(of: Self.lowestValue(at: index)), total))
        }
        return steps
    }

    private func sum(_ term: (Int64) -> Double) -> Double {
        var sum = 0.0
        for (index, count) in counts.enumerated() where count > 0 {
            sum += term(Self.medianEquivalent(of: Self.lowestValue(at: index))) * Double(count)
        }
        return sum
    }

    // MARK: Buckets

    private static func bucket(of value: Int64) -> Int {
        64 - halfCount.trailingZeroBitCount - 1 - (value | Int64(subBucketCount - 1)).leadingZeroBitCount
    }

    private static func index(of value: Int64) -> Int {
        let bucket = bucket(of: value)
        return bucket * halfCount + Int(value >> Int64(bucket))
    }

    private static func lowestValue(at index: Int) -> Int64 {
        let bucket = Swift.max(index / halfCount - 1, 0)
        return Int64(index - bucket * halfCount) << Int64(bucket)
    }

    /// Returns the lowest equivalent value.
    static func lowestEquivalent(of value: Int64) -> Int64 { lowestValue(at: index(of: value)) }

    /// Returns the highest equivalent value.
    static func highestEquivalent(of value: Int64) -> Int64 {
        lowestEquivalent(of: value) + (1 << Int64(bucket(of: value))) - 1
    }

    /// Returns the middle of the equivalent values.
    static func medianEquivalent(of value: Int64) -> Int64 {
        lowestEquivalent(of: value) + (1 << Int64(bucket(of: value))) / 2
    }
}
