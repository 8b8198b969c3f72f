import Basics

/// The delay before each attempt to reconnect.
public struct ReconnectPolicy: Sendable, Hashable {
    private enum Growth: Hashable {
        case exponential(base: Duration)
        case quadratic
    }

    private let growth: Growth
    private let isJittered: Bool
    /// The upper limit of the delay.
    public var maximumDelay: Duration

    /// Attempt n, counted from 0, waits a random part of min(`maximumDelay`, `base` · 2ⁿ), so that the clients of a
    /// failed server don't all return at the same moment. The default policy.
    public static func exponential(
        base: Duration = .seconds(1), maximumDelay: Duration = .seconds(120)
    ) -> ReconnectPolicy {
        ReconnectPolicy(growth: .exponential(base: base), isJittered: true, maximumDelay: maximumDelay)
    }

    /// Attempt n, counted from 0, waits exactly min(`maximumDelay`, n²) seconds, as older Pusher clients do.
    public static func quadratic(maximumDelay: Duration = .seconds(120)) -> ReconnectPolicy {
        ReconnectPolicy(growth: .quadratic, isJittered: false, maximumDelay: maximumDelay)
    }

    /// The longest delay before attempt `attempt`. Without jitter, this is the delay itself.
    package func longestDelay(attempt: Int) -> Duration {
        switch growth {
        case .exponential(let base): min(maximumDelay.bounded, base.bounded * (1 << min(max(attempt, 0), 30)))
        case .quadratic: min(maximumDelay.bounded, .seconds(min(attempt, 100_000) * min(attempt, 100_000)))
        }
    }

    package func delay(attempt: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let longest = longestDelay(attempt: attempt)
        return isJittered ? longest * Double.random(in: 0...1, using: &random) : longest
    }
}

/// SplitMix64, to spread retries. Seeded, so that a connection's life can be replayed. Not for secrets.
package struct JitterGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
