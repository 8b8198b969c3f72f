import Basics

/// A part of the work that is owned and moved as a whole. The digest of a unit's name determines its slot.
package struct Slot: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let count = 1024

    package let number: Int

    /// - Returns: `nil` if there is no such slot.
    package init?(_ number: Int) {
        guard (0..<Self.count).contains(number) else { return nil }
        self.number = number
    }

    /// - Parameter unit: A part of the work with one source: `pusher:<app>:<channel>`, `matrix:<user>`,
    ///   `pydio:<workspace>`.
    package init(of unit: String) {
        number = Int(Digest.sha256(Array(unit.utf8)).bigEndianStart % UInt64(Self.count))
    }

    package var description: String { "\(number)" }

    package static func < (lhs: Slot, rhs: Slot) -> Bool { lhs.number < rhs.number }
}

/// Assigns work to relays: the one with the highest weight gets it (rendezvous hashing). When a relay leaves, only its
/// work moves.
package enum RendezvousHash {
    package static func weight(_ name: some StringProtocol, _ key: String) -> UInt64 {
        Digest.sha256(Array(name.utf8) + [0] + Array(key.utf8)).bigEndianStart
    }
}

extension [UInt8] {
    /// The first eight bytes as a number.
    fileprivate var bigEndianStart: UInt64 { prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}
