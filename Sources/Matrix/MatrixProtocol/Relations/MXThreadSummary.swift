import JSONBytes

/// The state of a thread, apart from its root event.
public struct MXThreadSummary: Sendable, Equatable {
    /// The number of known messages in the thread.
    public var count: Int
    /// The newest message.
    public var latest: MXEvent?

    /// Combines the summary that the homeserver sent with the root, and newer messages.
    ///
    /// - Parameter stored: The stored messages of the thread, oldest first.
    /// - Returns: `nil` if the thread has no messages.
    package init?(of root: MXEvent, stored: [MXEvent]) {
        let bundle = root.bundledRelations?["m.thread"]
        let told = bundle?["count"]?.count ?? 0
        let toldLatest = bundle?["latest_event"].flatMap { MXEvent(json: $0, roomId: root.roomId) }
        let shown = stored.filter { !$0.isRedacted }
        // Skip what the homeserver has already counted.
        let newer = toldLatest.map { latest in shown.filter { $0.originServerTs > latest.originServerTs } } ?? shown
        count = max(told + newer.count, shown.count)
        // Prefer the stored event: it is decrypted.
        let latest = shown.last { $0.originServerTs >= toldLatest?.originServerTs ?? 0 } ?? toldLatest
        self.latest = latest
        if count == 0 { return nil }
    }

    /// Returns whether both are equal, including whether an encrypted newest message has been decrypted.
    public static func == (left: MXThreadSummary, right: MXThreadSummary) -> Bool {
        left.count == right.count && left.latest?.eventId == right.latest?.eventId
            && left.latest?.isEncrypted == right.latest?.isEncrypted
    }
}
