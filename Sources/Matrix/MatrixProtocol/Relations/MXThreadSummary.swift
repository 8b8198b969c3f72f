import JSONBytes

/// What is known of a thread beside the event that it began with.
public struct MXThreadSummary: Sendable, Equatable {
    /// Messages in it, as far as they are known.
    public var count: Int
    /// The newest of them.
    public var latest: MXEvent?

    /// What the homeserver says with the root, and what came since.
    ///
    /// - Parameter stored: Messages of the thread that are here, oldest first.
    /// - Returns: Nil if nobody has answered in a thread.
    package init?(of root: MXEvent, stored: [MXEvent]) {
        let bundle = root.bundledRelations?["m.thread"]
        let told = bundle?["count"]?.count ?? 0
        let toldLatest = bundle?["latest_event"].flatMap { MXEvent(json: $0, roomId: root.roomId) }
        let shown = stored.filter { !$0.isRedacted }
        // What the homeserver has counted is not counted again.
        let newer = toldLatest.map { latest in shown.filter { $0.originServerTs > latest.originServerTs } } ?? shown
        count = max(told + newer.count, shown.count)
        // Ours is decrypted.
        let latest = shown.last { $0.originServerTs >= toldLatest?.originServerTs ?? 0 } ?? toldLatest
        self.latest = latest
        if count == 0 { return nil }
    }

    /// Whether they tell the same: also of a newest message that was encrypted and can be read by now.
    public static func == (left: MXThreadSummary, right: MXThreadSummary) -> Bool {
        left.count == right.count && left.latest?.eventId == right.latest?.eventId
            && left.latest?.isEncrypted == right.latest?.isEncrypted
    }
}
