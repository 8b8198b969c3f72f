import Foundation
import TestSupport
import Testing

@testable import PusherCommands

/// The expected figures are from HdrHistogram 2.1.11 for Java: `new Histogram(1, 3600000000L, 3)`.
struct LatencyHistogramTests {
    private func histogram(of values: some Sequence<Int64>) -> LatencyHistogram {
        var histogram = LatencyHistogram()
        for value in values { histogram.record(microseconds: value) }
        return histogram
    }

    /// From 1 µs to 1000 s, evenly distributed over nine powers of ten.
    private var random: [Int64] {
        let bounds: [Int64] = [10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000]
        var seed: Int64 = 1
        return (0..<1000).map { index in
            seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
            return seed % bounds[index % 9] + 1
        }
    }

    @Test(
        arguments: [
            (0, 1), (25, 2501), (50, 5003), (90, 9007), (99, 9903), (99.9, 9991), (99.99, 9999), (100, 10007),
        ] as [(Double, Int64)])
    func percentilesOfARangeAreTheReferences(percentile: Double, value: Int64) {
        #expect(histogram(of: 1...10_000).value(atPercentile: percentile) == value)
    }

    @Test(
        arguments: [(0, 1), (14, 1), (15, 2), (30, 3), (43, 4), (58, 5), (72, 6), (90, 7), (99.9, 7)]
            as [(Double, Int64)])
    func percentilesOfFewValuesAreTheReferences(percentile: Double, value: Int64) {
        #expect(histogram(of: 1...7).value(atPercentile: percentile) == value)
    }

    @Test(
        arguments: [
            (0, 1), (25, 151), (50, 35_039), (90, 94_961_663), (99, 934_805_503), (99.9, 989_331_455),
            (99.99, 999_292_927), (100, 999_292_927),
        ] as [(Double, Int64)])
    func percentilesOfNinePowersOfTenAreTheReferences(percentile: Double, value: Int64) {
        #expect(histogram(of: random).value(atPercentile: percentile) == value)
    }

    @Test func meanDeviationAndMaximumAreTheReferences() {
        let range = histogram(of: 1...10_000)
        #expect(range.totalCount == 10_000)
        #expect(range.max == 10_007)
        #expect(abs(range.mean - 5000.898) < 1e-6)
        #expect(abs(range.standardDeviation - 2_886.892_666_656_6) < 1e-6)
        let wide = histogram(of: random)
        #expect(abs(wide.mean - 61_949_625.238) < 1e-3)
        #expect(abs(wide.standardDeviation - 188_010_358.548_62) < 1e-3)
    }

    @Test(
        arguments: [
            (1, 1, 1, 1), (2047, 2047, 2047, 2047), (2048, 2048, 2049, 2049), (2049, 2048, 2049, 2049),
            (4095, 4094, 4095, 4095), (4096, 4096, 4098, 4099), (100_000, 99_968, 100_000, 100_031),
            (3_600_000_000, 3_598_712_832, 3_599_761_408, 3_600_809_983),
        ] as [(Int64, Int64, Int64, Int64)])
    func valuesThatCountAsTheSameAreTheReferences(value: Int64, lowest: Int64, median: Int64, highest: Int64) {
        #expect(LatencyHistogram.lowestEquivalent(of: value) == lowest)
        #expect(LatencyHistogram.medianEquivalent(of: value) == median)
        #expect(LatencyHistogram.highestEquivalent(of: value) == highest)
    }

    @Test func everyValueIsWithinAThousandth() {
        for value in random {
            let (lowest, highest) = (
                LatencyHistogram.lowestEquivalent(of: value), LatencyHistogram.highestEquivalent(of: value)
            )
            #expect((lowest...highest).contains(value))
            #expect(Double(highest - lowest) <= Double(value) / 1000)
        }
    }

    @Test func whatIsOutsideTheRangeCountsAsItsEnd() {
        var histogram = LatencyHistogram()
        histogram.record(.seconds(-1))
        histogram.record(.seconds(1_000_000))
        #expect(histogram.value(atPercentile: 50) == 0)
        #expect(histogram.max == LatencyHistogram.highestEquivalent(of: LatencyHistogram.highestTrackable))
    }

    @Test func anEmptyHistogramIsZero() {
        let histogram = LatencyHistogram()
        #expect(histogram.value(atPercentile: 99) == 0)
        #expect(histogram.max == 0)
        #expect(histogram.mean == 0)
        #expect(histogram.standardDeviation == 0)
        #expect(PercentileDistribution(of: histogram).text.contains("Total count    =            0]"))
    }

    @Test func theDistributionIsTheReferencesText() throws {
        let text = PercentileDistribution(of: histogram(of: random)).text
        #expect(try text == Fixtures.text("histogram/random.hgrm"))
    }
}
