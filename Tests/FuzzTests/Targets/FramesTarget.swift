import PusherProtocol
import Realtime

/// A frame of a server, read the fast way and through Foundation: the same, or both refuse.
func fuzzFrames(_ bytes: [UInt8]) throws(BrokenClaim) {
    // The WebSocket has refused text that is not UTF-8.
    guard String(validating: bytes, as: UTF8.self) != nil else { return }
    // In the middle of what a read brought, as usual.
    let read = Array("}}".utf8) + bytes + Array("{\"\\".utf8)
    let frame = read[2..<2 + bytes.count]
    let fast = parsed { () throws(MalformedFrame) in try FrameParser.parse(read, frame.indices) }
    let general = parsed { () throws(MalformedFrame) in try FrameParser.parseGenerally(frame) }
    try claim("both ways accept or both refuse", (fast == nil) == (general == nil))
    guard let fast, let general else { return }
    try claim("same event", isIdentical(fast.eventName, general.eventName))
    try claim("same channel", isIdentical(fast.channelName, general.channelName))
    try claim("same data", isIdentical(fast.data, general.data))
    try claim("same user", isIdentical(fast.userId, general.userId))
    try claim("the key is the name", fast.nameKey == ByteKey(fast.eventName))
    if let data = general.data, !JSON.isValid(data) {
        // Only a string may hold what is not JSON.
        try claim("data is a string or JSON", (JSON.object(String(decoding: frame, as: UTF8.self))?["data"]) is String)
    }
}

private func parsed(_ parse: () throws(MalformedFrame) -> RealtimeEvent) -> RealtimeEvent? {
    do throws(MalformedFrame) {
        return try parse()
    } catch {
        return nil
    }
}

/// Byte for byte: strings that only look the same are equal to Swift.
func isIdentical(_ lhs: String?, _ rhs: String?) -> Bool {
    lhs.map { Array($0.utf8) } == rhs.map { Array($0.utf8) }
}
