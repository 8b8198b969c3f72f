import Basics
import Realtime

/// Channel names whose events are silently dropped on this connection: the channels were left, or are already reported.
///
/// The server controls the input, so only valid channel names are stored, up to a limit in bytes.
struct UnknownChannels: Sendable {
    enum Note: Sendable {
        /// Drop the event silently.
        case known
        /// Seen for the first time.
        case new
        /// The first invalid name; all later ones are ``known``.
        case invalid
        /// The first name beyond the limit; all later ones are ``known``.
        case tooMany
    }

    /// The maximum bytes of all names, including 64 bytes of overhead for each.
    static let maximumBytes = 1 << 20
    private static let overhead = 64

    private var names: Set<ByteKey> = []
    private var byteCount = 0
    private var hasSeenInvalid = false
    private var hasSeenTooMany = false

    func contains(_ name: ByteKey) -> Bool { names.contains(name) }

    /// Adds a channel that was left.
    mutating func left(_ name: ByteKey) { _ = insert(name) }

    /// Notes an event for a channel that is not subscribed.
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
        // A key with its own bytes, so that those of the frame can be released.
        if names.insert(ByteKey(Array(name.bytes)[...])).inserted { byteCount += cost }
        return true
    }
}
