import Basics
import JSONBytes

/// An index of the edits of and reactions to a room's events. Events can be added in any order and any number of times.
///
/// The index is bounded: when full, it evicts the relations of the oldest known events. ``MXStore`` still has them.
package struct RelationIndex: Sendable {
    private struct Reaction: Sendable {
        let id: String
        let key: String
        let sender: String
        let ts: UInt64
    }

    private struct Target: Sendable {
        var reactions: [Reaction] = []
        /// The edits, oldest first.
        var edits: [MXEvent] = []

        var count: Int { reactions.count + edits.count }
    }

    private var targets: [ByteKey: Target] = [:]
    /// The target of each reaction and edit. A redaction names only the reaction or edit.
    private var targetOf: [ByteKey: String] = [:]
    private var order = BoundedOrder()
    /// The redacted events. A redaction may arrive before its target.
    private var redacted: Set<ByteKey> = []
    private var redactedOrder = BoundedOrder()
    private let limit: Int
    /// The number of evictions.
    package private(set) var evictions = 0

    /// The maximum number of edits to keep per event and user. The newest are kept.
    private static let editsOfOneSender = 64

    /// - Parameter limit: The maximum number of reactions and edits to keep.
    package init(limit: Int = 20_000) {
        self.limit = limit
    }

    /// The number of reactions and edits.
    package var count: Int { targetOf.count }

    // MARK: Events

    /// Adds a reaction, an edit, a redaction, or an event with its newest edit bundled by the server. Ignores all other
    /// events.
    ///
    /// - Parameter version: The room's version; `nil` if unknown.
    /// - Returns: The id of the event whose relations changed.
    @discardableResult
    package mutating func add(_ event: MXEvent, in version: RoomVersion? = nil) -> String? {
        let id = event.eventId
        guard !id.isEmpty else { return nil }
        if event.type == "m.room.redaction" { return event.redacts(in: version).flatMap { redact($0) } }
        if event.isRedacted { return redact(id) }
        let bundled = addBundledEdit(of: event)
        guard targetOf[id] == nil, !redacted.contains(id), !event.isState, let relation = event.relatesTo,
            let target = relation.eventId, !redacted.contains(target)
        else { return bundled }
        if relation.relationType == "m.annotation", event.type == "m.reaction", let key = relation.key {
            targets[target, default: Target()].reactions.append(
                Reaction(id: id, key: key, sender: event.sender, ts: event.originServerTs))
        } else if relation.relationType == "m.replace", event.originalContent["m.new_content"]?.isObject == true {
            guard insert(event, in: target) else { return nil }
        } else {
            return bundled
        }
        targetOf[id] = target
        order.append(target)
        trim()
        return target
    }

    private mutating func addBundledEdit(of event: MXEvent) -> String? {
        guard let json = event.bundledRelations?["m.replace"],
            let edit = MXEvent(json: json, roomId: event.roomId), edit.editedEventId == event.eventId
        else { return nil }
        return add(edit)
    }

    private mutating func insert(_ edit: MXEvent, in target: String) -> Bool {
        var edits = targets[target]?.edits ?? []
        let place = edits.firstIndex { Self.isNewer($0, than: edit) } ?? edits.count
        edits.insert(edit.compact, at: place)
        let own = edits.indices.filter { edits[$0].sender.isExactly(edit.sender) }
        if own.count > Self.editsOfOneSender {
            let oldest = edits.remove(at: own[0])
            if oldest.eventId.isExactly(edit.eventId) { return false }
            targetOf[oldest.eventId] = nil
        }
        targets[target, default: Target()].edits = edits
        return true
    }

    private static func isNewer(_ one: MXEvent, than other: MXEvent) -> Bool {
        (one.originServerTs, one.eventId) > (other.originServerTs, other.eventId)
    }

    /// Removes a reaction or an edit that was redacted, or a local echo that failed or was replaced by its real id.
    ///
    /// - Returns: The id of the event it related to.
    @discardableResult
    package mutating func remove(_ eventId: String) -> String? {
        guard let target = targetOf.removeValue(forKey: eventId) else { return nil }
        targets[target]?.reactions.removeAll { $0.id.isExactly(eventId) }
        targets[target]?.edits.removeAll { $0.eventId.isExactly(eventId) }
        if targets[target]?.count == 0 { targets[target] = nil }
        return target
    }

    /// Removes an event's own relation and everything that relates to it.
    ///
    /// - Returns: The id of the event whose relations changed.
    package mutating func redact(_ eventId: String) -> String? {
        if redacted.insert(eventId) {
            redactedOrder.append(eventId)
            if redacted.count > limit, let oldest = redactedOrder.popFirst() { redacted.remove(oldest) }
        }
        // A removed event has no relations any more.
        if let target = drop(eventId) { return target }
        return remove(eventId)
    }

    private mutating func drop(_ targetId: String) -> String? {
        guard let target = targets.removeValue(forKey: targetId) else { return nil }
        for reaction in target.reactions { targetOf[reaction.id] = nil }
        for edit in target.edits { targetOf[edit.eventId] = nil }
        return targetId
    }

    private mutating func trim() {
        while targetOf.count > limit, let oldest = order.popFirst() {
            _ = drop(oldest)
            evictions += 1
        }
        // Entries that were removed one by one are still in the order.
        if order.count > 2 * limit { order.removeAll { targets[$0] == nil } }
    }

    // MARK: Queries

    /// Returns whether any relations of an event are known.
    package func hasRelations(to eventId: String) -> Bool { targets[eventId] != nil }

    /// Returns the relations of an event; `nil` if there are none.
    ///
    /// - Parameters:
    ///   - original: The event, if available. Only edits by its sender count.
    ///   - userId: The current user.
    package func aggregations(
        forEvent eventId: String, original: MXEvent?, currentUser userId: String
    ) -> MXEventAggregations? {
        guard let target = targets[eventId], original?.isRedacted != true else { return nil }
        let edits = original.map { validEdits(of: $0) } ?? []
        guard !edits.isEmpty || !target.reactions.isEmpty else { return nil }
        var byKey = MXDictionary<[Reaction]>()
        for reaction in target.reactions { byKey[reaction.key, default: []].append(reaction) }
        let reactions = byKey.mapValues { Self.summary($0, userId) }
        return MXEventAggregations(
            eventId: eventId, reactions: reactions.isEmpty ? nil : reactions, editCount: edits.count,
            editedTs: edits.last?.originServerTs)
    }

    private static func summary(_ reactions: [Reaction], _ userId: String) -> MXReactionSummary {
        var seen: Set<ByteKey> = []
        let inOrder = reactions.sorted { ($0.ts, $0.id) < ($1.ts, $1.id) }
        let senders = inOrder.map(\.sender).filter { seen.insert(ByteKey($0)).inserted }
        let own = inOrder.filter { $0.sender.isExactly(userId) }.map(\.id)
        return MXReactionSummary(
            reaction: reactions.first?.key ?? "", count: senders.count, originServerTs: inOrder.first?.ts ?? 0,
            containsCurrentUser: !own.isEmpty,
            myUserReactionEventId: own.first { !$0.hasPrefix(MXEvent.localEventIdPrefix) } ?? own.first,
            senders: senders)
    }

    /// Returns the event with the content of its newest edit, or unchanged if there is none or it is redacted.
    package func edited(_ original: MXEvent) -> MXEvent {
        guard let content = validEdits(of: original).last?.originalContent["m.new_content"] else { return original }
        var object = JSONWriter()
        for (key, value) in content.members where key != "m.relates_to" { object.add(key, value) }
        // An edit cannot change the reply target or the thread.
        if let relation = original.originalContent["m.relates_to"] { object.add("m.relates_to", relation) }
        return original.withEditedContent(object.view)
    }

    /// Returns the newest valid edit of an event.
    package func newestEdit(of original: MXEvent) -> MXEvent? { validEdits(of: original).last }

    /// Returns the valid edits, oldest first. An edit is valid if it has the event's sender and type and does not
    /// target an edit. An encrypted event needs an encrypted edit: a server could forge a plaintext one.
    private func validEdits(of original: MXEvent) -> [MXEvent] {
        guard let edits = targets[original.eventId]?.edits, !original.isState, !original.isRedacted, !original.isEdit
        else { return [] }
        return edits.filter {
            $0.sender.isExactly(original.sender) && $0.type == original.type
                && ($0.isDecrypted || !original.isDecrypted)
                && ($0.roomId == nil || original.roomId == nil || $0.roomId == original.roomId)
        }
    }
}

/// Ids in order of insertion.
private struct BoundedOrder: Sendable {
    private var ids: [String] = []
    private var start = 0

    var count: Int { ids.count - start }

    mutating func append(_ id: String) {
        ids.append(id)
    }

    mutating func popFirst() -> String? {
        guard start < ids.count else { return nil }
        defer {
            start += 1
            if start > 64, start * 2 > ids.count {
                ids.removeFirst(start)
                start = 0
            }
        }
        return ids[start]
    }

    mutating func removeAll(where isUnneeded: (String) -> Bool) {
        var seen: Set<ByteKey> = []
        ids = ids[start...].filter { !isUnneeded($0) && seen.insert($0) }
        start = 0
    }
}
