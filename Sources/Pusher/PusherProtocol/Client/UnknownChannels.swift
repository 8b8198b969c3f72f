import Basics
import Realtime

/// Names whose events are dropped without another word on this connection: their channels were left, or have been
/// reported already.
///
/// The server decides what comes, so only what can be a channel's name is kept, up to a bound in bytes.
struct UnknownChannels: Sendable {
    enum Note: Sendable {
        /// To be dropped in silence.
        case known
        /// Seen for the first time.
        case new
        /// The first name that no channel can have; all others are ``known`` from here on.
        case invalid
        /// The first name beyond the bound; all others are ``known`` from here on.
        case tooMany
    }

    /// Bytes of all names, with 64 for each of them for the set that keeps it.
    static let maximumBytes = 1 << 20
    private static let overhead = 64

    private var names: Set<ByteKey> = []
    private var byteCount = 0
    private var hasSeenInvalid = false
    private var hasSeenTooMany = false

    func contains(_ name: ByteKey) -> Bool { names.contains(name) }

    /// A channel was left.
    mutating func left(_ name: ByteKey) { _ = insert(name) }

    /// An event named a channel that nobody has subscribed to.
    mutating func note(_ name: ByteKey) -> Note {
        guard !names.contains(name) else { return .known }
        guard ChannelName.isValid(name.bytes) else {
            defer { hasSeenInvalid = true }
            return hasSeenInvalid ? .known : .invalid
        }
        guard insert(name) else {
            defer { hasSeenTooMany = true }
            return hasSeenTooMany ? .known : .tooMany
        }
        return .new
    }

    private mutating func insert(_ name: ByteKey) -> Bool {
        let cost = name.bytes.count + Self.overhead
        guard byteCount + cost <= Self.maximumBytes else { return false }
        // A key of its own: the bytes of the frame need not live on.
        if names.insert(ByteKey(Array(name.bytes)[...])).inserted { byteCount += cost }
        return true
    }
}
