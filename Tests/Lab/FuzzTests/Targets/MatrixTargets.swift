import Foundation
import JSONBytes
import MatrixProtocol

/// Our reader and Foundation agree on a JSON value that both accept.
func fuzzMatrixJSON(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard let view = JSONView(bytes),
        let theirs = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
    else { return }
    try agree(view, theirs)
}

private func agree(_ view: JSONView, _ theirs: Any) throws(BrokenClaim) {
    if let text = theirs as? String {
        if let own = view.string { try claim("same text", Array(own.utf8) == Array(text.utf8)) }
    } else if let list = theirs as? [Any] {
        guard let own = view.array else { return }  // Foundation accepts more than JSON: `[2,,]`
        try claim("as many elements", own.count == list.count)
        for (one, other) in zip(own, list) { try agree(one, other) }
    } else if let object = theirs as? [String: Any] {
        try claim("an object is one", view.isObject)
        let members = view.members
        // With equal keys, each reader may choose a different one.
        guard Set(members.map(\.key)).count == members.count, members.count == object.count else { return }
        for (key, value) in members {
            guard let other = object[key] else { throw BrokenClaim(description: "the same keys") }
            try claim("a key finds its value", view[key] == value)
            try agree(value, other)
        }
    } else if theirs is NSNull {
        try claim("null is null", view.isNull)
    }
}

/// A sync answer is parsed without harm, and its events report their actual content.
func fuzzMatrixSync(_ bytes: [UInt8]) throws(BrokenClaim) {
    guard let response = try? SyncResponse(bytes) else { return }
    for section in response.joined + response.left {
        let events = section.state + section.timeline.events
        var relations = RelationIndex(limit: 8)
        for event in events {
            try claim("redacted", event.isRedacted == (event.unsigned?["redacted_because"] != nil))
            try claim("transaction", event.transactionId == event.unsigned?["transaction_id"]?.string)
            let relation = event.contentJSON["m.relates_to"]
            let isToItself = relation?["event_id"]?.string == event.eventId
            try claim("relation", (event.relatesTo != nil) == (relation?.isObject == true && !isToItself))
            relations.add(event)
            try claim("relations are bounded", relations.count <= 8)
        }
        let state = MXRoomState(roomId: section.roomId, events: events.filter(\.isState))
        let rules = PushRules(events.first?.contentJSON ?? JSONView(bytes: [], range: 0..<0))
        for event in events { _ = rules.decision(for: event, in: state, currentUser: "@a:s") }
        _ = RoomName.displayName(
            of: state, heroes: nil, joinedCount: 2, invitedCount: 0, currentUser: "@a:s")
    }
}
