import MatrixProtocol

/// Events of a timeline that are not shown, each with the next older one that is.
struct HiddenEvents {
    /// Empty if nothing older is shown.
    private var anchors: [String: String] = [:]
    /// What follows a shown event, oldest first.
    private var followers: [String: [String]] = [:]
    /// Older than all that is shown, newest first.
    private var atStart: [String] = []
    /// The room before those that may be shown later: they can be decrypted still.
    private var states: [String: MXRoomState] = [:]

    func contains(_ eventId: String) -> Bool { anchors[eventId] != nil }

    /// The next older event that is shown; nil if none is known.
    func shown(before eventId: String) -> String? {
        anchors[eventId].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Keeps the room's state before an event until that is shown.
    mutating func keep(_ state: MXRoomState?, before event: MXEvent) {
        if event.isEncrypted { states[event.eventId] = state }
    }

    /// The oldest event of all.
    mutating func addOldest(_ eventId: String) {
        anchors[eventId] = ""
        atStart.append(eventId)
    }

    /// The newest event of all.
    mutating func addNewest(_ eventId: String, after shown: String?) { append([eventId], after: shown) }

    /// An event is shown that is older than all others.
    mutating func showedOldest(_ eventId: String) {
        guard !atStart.isEmpty else { return }
        let ids = Array(atStart.reversed())
        atStart = []
        append(ids, after: eventId)
    }

    /// An event is not shown any more.
    mutating func hid(_ eventId: String, after shown: String?) {
        append([eventId] + (followers.removeValue(forKey: eventId) ?? []), after: shown)
    }

    /// An event that was shown is gone.
    mutating func removed(_ eventId: String, after shown: String?) {
        append(followers.removeValue(forKey: eventId) ?? [], after: shown)
    }

    /// A shown event has another id.
    mutating func renamed(_ old: String, to new: String) {
        append(followers.removeValue(forKey: old) ?? [], after: new)
    }

    /// A hidden event is shown: those that follow it follow it alone.
    ///
    /// - Returns: The room's state before it, if that was kept.
    mutating func revealed(_ eventId: String) -> MXRoomState? {
        guard let anchor = anchors.removeValue(forKey: eventId) else { return nil }
        defer { states[eventId] = nil }
        if anchor.isEmpty {
            guard let index = atStart.firstIndex(of: eventId) else { return nil }
            let newer = Array(atStart[..<index].reversed())
            atStart.removeSubrange(...index)
            append(newer, after: eventId)
        } else {
            guard let index = followers[anchor]?.firstIndex(of: eventId), let all = followers[anchor] else {
                return nil
            }
            followers[anchor] = Array(all[..<index])
            append(Array(all[(index + 1)...]), after: eventId)
        }
        return states[eventId]
    }

    /// Knows nothing more of what follows a shown event, which is forgotten too.
    mutating func forget(after shown: String) {
        for id in followers.removeValue(forKey: shown) ?? [] { (anchors[id], states[id]) = (nil, nil) }
    }

    /// Knows nothing more of what is older than all that is shown.
    mutating func forgetOldest() {
        for id in atStart { (anchors[id], states[id]) = (nil, nil) }
        atStart = []
    }

    private mutating func append(_ ids: [String], after shown: String?) {
        for id in ids { anchors[id] = shown ?? "" }
        if let shown {
            if !ids.isEmpty { followers[shown, default: []] += ids }
        } else {
            atStart = ids.reversed() + atStart
        }
    }
}
