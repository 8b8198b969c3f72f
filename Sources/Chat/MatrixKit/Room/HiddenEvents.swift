import MatrixProtocol

/// The hidden events of a timeline, each with the next older event that is shown.
struct HiddenEvents {
    /// The next older shown event by hidden event; empty if nothing older is shown.
    private var anchors: [String: String] = [:]
    /// The hidden events after each shown event, oldest first.
    private var followers: [String: [String]] = [:]
    /// The hidden events older than all shown ones, newest first.
    private var atStart: [String] = []
    /// The room's state before events that may be shown later because they can still be decrypted.
    private var states: [String: MXRoomState] = [:]

    func contains(_ eventId: String) -> Bool { anchors[eventId] != nil }

    /// Returns the next older event that is shown; `nil` if none is known.
    func shown(before eventId: String) -> String? {
        anchors[eventId].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Keeps the room's state before an event until the event is shown.
    mutating func keep(_ state: MXRoomState?, before event: MXEvent) {
        if event.isEncrypted { states[event.eventId] = state }
    }

    /// Adds a hidden event that is older than all others.
    mutating func addOldest(_ eventId: String) {
        anchors[eventId] = ""
        atStart.append(eventId)
    }

    /// Adds a hidden event that is newer than all others.
    mutating func addNewest(_ eventId: String, after shown: String?) { append([eventId], after: shown) }

    /// Records that an event older than all others is now shown.
    mutating func showedOldest(_ eventId: String) {
        guard !atStart.isEmpty else { return }
        let ids = Array(atStart.reversed())
        atStart = []
        append(ids, after: eventId)
    }

    /// Records that an event is no longer shown.
    mutating func hid(_ eventId: String, after shown: String?) {
        append([eventId] + (followers.removeValue(forKey: eventId) ?? []), after: shown)
    }

    /// Records that a shown event was removed.
    mutating func removed(_ eventId: String, after shown: String?) {
        append(followers.removeValue(forKey: eventId) ?? [], after: shown)
    }

    /// Records that a shown event has a new id.
    mutating func renamed(_ old: String, to new: String) {
        append(followers.removeValue(forKey: old) ?? [], after: new)
    }

    /// Records that a hidden event is now shown. The hidden events after it now follow this event.
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

    /// Forgets the hidden events after a shown event, which is forgotten as well.
    mutating func forget(after shown: String) {
        for id in followers.removeValue(forKey: shown) ?? [] { (anchors[id], states[id]) = (nil, nil) }
    }

    /// Forgets the hidden events older than all shown ones.
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
