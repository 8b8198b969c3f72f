import Basics

/// The IDs by which a stream recognizes repeated messages: within its window, it stores each ID once.
///
/// Parts are escaped like header values, and so that no two lists of parts produce the same ID. An ID that is too long
/// is replaced by its digest.
package enum MessageID {
    /// In bytes. The server keeps every ID of its window in memory.
    package static let maximumLength = 200

    /// - Parameter account: Pass nil to store an event in the timelines of two accounts only once.
    package static func matrix(account: String?, room: String, event: String) -> String {
        make(["matrix", account ?? "", room, event])
    }

    package static func pydio(workspace: String, sequence: Int64) -> String {
        make(["pydio", workspace, "\(sequence)"])
    }

    /// Events of the Pusher protocol have no IDs, so this one only protects against messages resent from here.
    package static func pusher(app: String, slot: Slot, term: Int, sequence: Int) -> String {
        make(["pusher", app, "\(slot)", "\(term)", "\(sequence)"])
    }

    /// Excludes the relay: if two relays have taken one term, the stream keeps the first one's fence.
    ///
    /// - Parameter prefix: The prefix of the subjects, because groups of relays may share a stream.
    package static func fence(prefix: String, slot: Slot, term: Int) -> String {
        make(["fence", prefix, "\(slot)", "\(term)"])
    }

    package static func gap(slot: Slot, term: Int, unit: String) -> String {
        make(["gap", "\(slot)", "\(term)", unit])
    }

    /// - Parameter token: The position. It can be a secret, and so is not part of the ID.
    package static func cursor(unit: String, token: String) -> String {
        make(["cursor", unit, digest(token)])
    }

    package static func deadLetter(stream: String, consumer: String, sequence: UInt64) -> String {
        make(["dead", stream, consumer, "\(sequence)"])
    }

    /// - Parameter parts: At least one.
    package static func make(_ parts: [String]) -> String {
        var id = ""
        id.reserveCapacity(maximumLength)
        for part in parts {
            if !id.isEmpty { id += "/" }
            let value = HeaderValue.encode(part)
            let isDivided = value.utf8.contains { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "/") }
            id += isDivided ? value.replacing(" ", with: "%20").replacing("/", with: "%2F") : value
        }
        return id.utf8.count <= maximumLength ? id : parts[0] + "/~" + digest(id)
    }

    private static func digest(_ text: String) -> String {
        Digest.sha256(Array(text.utf8)).prefix(16).map { Hex.text($0) }.joined().lowercased()
    }
}
