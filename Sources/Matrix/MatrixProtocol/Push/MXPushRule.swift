public import JSONBytes

/// A rule that says which events notify the user, and how (client-server specification, "Push rules").
public struct MXPushRule: Sendable {
    /// In the order in which the kinds are asked.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case override, content, room, sender, underride
    }

    /// What a rule can order.
    public enum Action: Sendable, Hashable {
        case notify
        case highlight(Bool)
        case sound(String)
        /// Anything else, by its name; it does nothing here.
        case other(String)
    }

    /// Which of the lists it stands in.
    public let kind: Kind
    /// Unique in its kind. Of a room's or a sender's rule the id of that.
    public let ruleId: String
    /// Whether it is asked at all.
    public let isEnabled: Bool
    /// Whether the server has put it there.
    public let isDefault: Bool
    /// What it orders. Without ``Action/notify`` it keeps an event silent.
    public let actions: [Action]
    /// Of a content rule: words of the text.
    public let pattern: String?
    /// Everything the server said of it.
    public let json: JSONView
    let conditions: [PushCondition]

    init?(_ json: JSONView, kind: Kind) {
        guard json.isObject, let ruleId = json["rule_id"]?.string else { return nil }
        (self.json, self.kind, self.ruleId) = (json, kind, ruleId)
        isEnabled = json["enabled"]?.bool ?? true
        isDefault = json["default"]?.bool ?? false
        actions = (json["actions"]?.array ?? []).prefix(Self.bound).compactMap(Action.init)
        pattern = json["pattern"]?.string
        conditions =
            switch kind {
            case .override, .underride: Self.conditions(json["conditions"]?.array ?? [])
            case .content:
                [
                    pattern.flatMap { GlobPattern($0) }
                        .map { .eventMatch(path: ["content", "body"], $0, isWords: true) } ?? .never
                ]
            case .room:
                [
                    GlobPattern(ruleId, isLiteral: true).map { .eventMatch(path: ["room_id"], $0, isWords: false) }
                        ?? .never
                ]
            case .sender:
                [
                    GlobPattern(ruleId, isLiteral: true).map { .eventMatch(path: ["sender"], $0, isWords: false) }
                        ?? .never
                ]
            }
    }

    /// Of actions the first ones count. A rule with more conditions does not match.
    private static let bound = 64

    private static func conditions(_ list: [JSONView]) -> [PushCondition] {
        list.count <= bound ? list.map(PushCondition.init) : [.never]
    }

    /// Whether it makes an event notify.
    public var notifies: Bool { actions.contains(.notify) }

    /// Whether it makes an event stand out.
    public var highlights: Bool { actions.contains(.highlight(true)) }

    /// What to play; `default` is the client's choice.
    public var sound: String? {
        for case .sound(let name) in actions { return name }
        return nil
    }
}

extension MXPushRule.Action {
    init?(_ json: JSONView) {
        if let name = json.string {
            self = name == "notify" ? .notify : .other(name)
            return
        }
        guard let tweak = json["set_tweak"]?.string else { return nil }
        switch tweak {
        case "highlight": self = .highlight(json["value"]?.bool ?? true)
        case "sound": self = .sound(json["value"]?.string ?? "default")
        default: self = .other(tweak)
        }
    }
}
