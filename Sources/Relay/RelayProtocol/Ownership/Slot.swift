import Basics

/// A part of all there is to relay: what is owned, and moves, as one. Units are in the slot of their name's digest.
package struct Slot: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let count = 1024

    package let number: Int

    /// - Returns: Nil unless there is such a slot.
    package init?(_ number: Int) {
        guard (0..<Self.count).contains(number) else { return nil }
        self.number = number
    }

    /// - Parameter unit: What has one source: `pusher:<app>:<channel>`, `matrix:<user>`, `pydio:<workspace>`.
    package init(of unit: String) {
        number = Int(Digest.sha256(Array(unit.utf8)).bigEndianStart % UInt64(Self.count))
    }

    package var description: String { "\(number)" }

    package static func < (lhs: Slot, rhs: Slot) -> Bool { lhs.number < rhs.number }
}

/// Who of several relays is to have what: the one with the highest weight (rendezvous hashing). When one leaves, only what it
/// had moves.
package enum RendezvousHash {
    /// - Parameter name: Of a relay.
    package static func weight(_ name: some StringProtocol, _ key: String) -> UInt64 {
        Digest.sha256(Array(name.utf8) + [0] + Array(key.utf8)).bigEndianStart
    }
}

extension [UInt8] {
    /// The first eight bytes as a number.
    fileprivate var bigEndianStart: UInt64 { prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}
