import Basics
import Realtime

/// The beginnings of event frames, one for each channel, by which later frames may be recognized.
struct EventHeads: Sendable {
    /// The head that was noted or matched last.
    private(set) var latest: EventHead?
    private var byChannel: [ByteKey: EventHead] = [:]
    /// A hash of the last event's name: equal for equal names, and hardly ever for others.
    private var latestName = 0

    /// Notes an event that was not recognized. Equal names often come in a row, on one channel or on many.
    ///
    /// - Parameter channel: A key with its own bytes, so that those of the event can be released.
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
    /// - Returns: False if the latest head doesn't change.
    mutating func turn(to frame: Range<Int>, of bytes: [UInt8]) -> Bool {
        guard let latest, let channel = latest.channelName(in: bytes, frame),
            let head = byChannel[ByteKey(bytes[channel])], head !== latest
        else { return false }
        self.latest = head
        return true
    }

    /// Hashes the name's length and up to 16 of its bytes.
    private static func fold(_ name: UnsafeRawBufferPointer) -> Int {
        guard name.count >= 8 else { return name.reduce(name.count) { $0 &<< 8 | Int($1) } }
        let (first, last) = (
            name.loadUnaligned(as: Int.self), name.loadUnaligned(fromByteOffset: name.count - 8, as: Int.self)
        )
        return first &* 31 &+ last &+ name.count
    }
}
