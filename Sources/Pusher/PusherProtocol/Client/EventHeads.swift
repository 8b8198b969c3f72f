import Basics
import Realtime

/// How frames of events begin, one for each channel: what follows may be recognised by it.
struct EventHeads: Sendable {
    /// That of the event which was recognised last.
    private(set) var latest: EventHead?
    private var byChannel: [ByteKey: EventHead] = [:]
    /// Equal for two names that are the same, and hardly ever for others.
    private var latestName = 0

    /// An event that was not recognised. Names alike often come in a row, on one channel or on many.
    ///
    /// - Parameter channel: A key of its own: the event's bytes need not live on.
    mutating func note(_ event: RealtimeEvent, on id: EventRouter.ChannelID, named channel: ByteKey) {
        let name = event.withName(Self.fold)
        if name == latestName, let head = EventHead(of: event, on: id) {
            latest = head
            byChannel[channel] = head
        }
        latestName = name
    }

    /// Makes the head of `frame`'s channel the latest, if the frame differs from the latest in its channel.
    ///
    /// - Returns: False if it stays the same.
    mutating func turn(to frame: Range<Int>, of bytes: [UInt8]) -> Bool {
        guard let latest, let channel = latest.channelName(in: bytes, frame),
            let head = byChannel[ByteKey(bytes[channel])], head !== latest
        else { return false }
        self.latest = head
        return true
    }

    /// Its length and up to 16 of its bytes.
    private static func fold(_ name: UnsafeRawBufferPointer) -> Int {
        guard name.count >= 8 else { return name.reduce(name.count) { $0 &<< 8 | Int($1) } }
        let (first, last) = (
            name.loadUnaligned(as: Int.self), name.loadUnaligned(fromByteOffset: name.count - 8, as: Int.self)
        )
        return first &* 31 &+ last &+ name.count
    }
}
