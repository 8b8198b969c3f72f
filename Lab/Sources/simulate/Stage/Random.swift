import Realtime

/// The only source of randomness of a schedule: everything follows from its seed.
struct Random {
    private var generator: JitterGenerator

    init(seed: UInt64) {
        generator = JitterGenerator(seed: seed &* 0x2545_F491_4F6C_DD1D)
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }

    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    mutating func seconds(_ range: ClosedRange<Double>) -> Duration {
        .milliseconds(Int(Double.random(in: range, using: &generator) * 1000))
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    mutating func next() -> UInt64 { generator.next() }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }
}

/// Weighted choices, such as `[(3, .a), (1, .b)]`.
struct Weighted<Element: Sendable>: Sendable {
    private let elements: [(weight: Int, make: @Sendable (inout Random) -> Element)]
    private let total: Int

    init(_ elements: [(weight: Int, make: @Sendable (inout Random) -> Element)]) {
        self.elements = elements
        total = elements.reduce(0) { $0 + $1.weight }
    }

    func pick(_ random: inout Random) -> Element {
        var left = random.below(total)
        for (weight, make) in elements.dropLast() {
            if left < weight { return make(&random) }
            left -= weight
        }
        return elements[elements.count - 1].make(&random)
    }
}
