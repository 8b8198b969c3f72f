import Basics

/// What a stream knows repeated messages by: the same id is stored once within its window.
///
/// Parts are escaped like values of headers, and so that no two lists of parts make the same id. What is too long is named by
/// its digest.
package enum MessageID {
    /// Bytes. The server keeps every id of its window in memory.
    package static let maximumLength = 200

    /// - Parameter account: Nil: an event that is in the timelines of two accounts is stored once.
    package static func matrix(account: String?, room: String, event: String) -> String {
        make(["matrix", account ?? "", room, event])
    }

    package static func pydio(workspace: String, sequence: Int64) -> String {
        make(["pydio", workspace, "\(sequence)"])
    }

    /// Events of the Pusher protocol have no ids: this one only protects against what is sent again from here.
    package static func pusher(app: String, slot: Slot, term: Int, sequence: Int) -> String {
        make(["pusher", app, "\(slot)", "\(term)", "\(sequence)"])
    }

    /// Without the relay: of two that have taken one term, the stream keeps the fence of the first.
    ///
    /// - Parameter prefix: Of the subjects: one stream may be of several groups of relays.
    package static func fence(prefix: String, slot: Slot, term: Int) -> String {
        make(["fence", prefix, "\(slot)", "\(term)"])
    }

    package static func gap(slot: Slot, term: Int, unit: String) -> String {
        make(["gap", "\(slot)", "\(term)", unit])
    }

    /// - Parameter token: The position. It can be a secret, and is not in the id.
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
