public import JSONBytes

/// A rule that decides which events notify the user, and how (client-server specification, "Push rules").
public struct MXPushRule: Sendable {
    /// The kinds of rules, in order of evaluation.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case override, content, room, sender, underride
    }

    /// An action of a rule.
    public enum Action: Sendable, Hashable {
        case notify
        case highlight(Bool)
        case sound(String)
        /// Any other action, by its name. It has no effect here.
        case other(String)
    }

    /// The kind of rule.
    public let kind: Kind
    /// The rule's id, unique within its kind. For a room or sender rule, the id of the room or sender.
    public let ruleId: String
    /// Whether the rule is enabled.
    public let isEnabled: Bool
    /// Whether the rule is a server default.
    public let isDefault: Bool
    /// The rule's actions. Without ``Action/notify``, matching events stay silent.
    public let actions: [Action]
    /// For a content rule, the words to match in the text.
    public let pattern: String?
    /// The rule as received from the server.
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

    /// The maximum number of actions and conditions. Further actions are ignored; with more conditions nothing matches.
    private static let bound = 64

    private static func conditions(_ list: [JSONView]) -> [PushCondition] {
        list.count <= bound ? list.map(PushCondition.init) : [.never]
    }

    /// Whether matching events notify the user.
    public var notifies: Bool { actions.contains(.notify) }

    /// Whether matching events are highlighted.
    public var highlights: Bool { actions.contains(.highlight(true)) }

    /// The sound to play; `default` leaves the choice to the client.
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
