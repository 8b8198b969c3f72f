import Basics
import JSONBytes
import PusherProtocol
import Realtime

/// A server's frame, read on the fast path and through Foundation: both agree, or both reject it.
func fuzzFrames(_ bytes: [UInt8]) throws(BrokenClaim) {
    // The WebSocket has already rejected text that is not UTF-8.
    guard String(validating: bytes, as: UTF8.self) != nil else { return }
    // In the middle of a read, as usual.
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
    try recogniseByHead(fast, Array(bytes))
    if let data = general.data, !JSONView.isJSON(data) {
        // Only a string may contain invalid JSON.
        try claim("data is a string or JSON", (JSON.object(String(decoding: frame, as: UTF8.self))?["data"]) is String)
    }
}

/// Frames recognised as events by their beginning match the parser's results: the frame itself, and the text after a
/// line break in it with the same beginning.
private func recogniseByHead(_ event: RealtimeEvent, _ frame: [UInt8]) throws(BrokenClaim) {
    let channel = EventRouter.ChannelID(number: 1)
    guard let head = EventHead(of: event, on: channel) else { return }
    let ends = frame.split(separator: UInt8(ascii: "x"), maxSplits: 3).map { head.prefix + $0 } + [frame]
    for candidate in ends where FrameScanner.isEvent(candidate, candidate.indices, like: head) {
        let alone = parsed { () throws(MalformedFrame) in try FrameParser.parse(candidate, candidate.indices) }
        var batch = EventBatch(of: candidate, expecting: 1)
        batch.begin(head)
        batch.append(candidate.indices)
        guard let alone, let (recognised, itsChannel) = batch.first else {
            throw BrokenClaim(description: "what begins like an event is one")
        }
        try claim("same event", isIdentical(alone.eventName, recognised.eventName))
        try claim("same channel", isIdentical(alone.channelName, recognised.channelName) && itsChannel == channel)
        try claim("same data", isIdentical(alone.data, recognised.data))
        try claim("same user", isIdentical(alone.userId, recognised.userId))
        try claim("same frame", alone.frame == recognised.frame)
    }
    try claim("it begins like itself", FrameScanner.isEvent(frame, frame.indices, like: head))
}

private func parsed(_ parse: () throws(MalformedFrame) -> RealtimeEvent) -> RealtimeEvent? {
    do throws(MalformedFrame) {
        return try parse()
    } catch {
        return nil
    }
}

/// Compares byte for byte: Swift also considers canonically equivalent strings equal.
func isIdentical(_ lhs: String?, _ rhs: String?) -> Bool {
    lhs.map { Array($0.utf8) } == rhs.map { Array($0.utf8) }
}
