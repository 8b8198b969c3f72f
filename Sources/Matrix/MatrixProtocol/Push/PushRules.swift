package import JSONBytes

/// The compiled push rules of an account.
package struct PushRules: Sendable {
    /// The result of evaluating the rules for an event.
    package struct Decision: Sendable, Hashable {
        package var notify = false
        package var highlight = false
        /// The sound to play; `default` leaves the choice to the client.
        package var sound: String?
        /// The rule that matched; `nil` if none did.
        package var ruleId: String?

        package init(notify: Bool = false, highlight: Bool = false, sound: String? = nil, ruleId: String? = nil) {
            (self.notify, self.highlight, self.sound, self.ruleId) = (notify, highlight, sound, ruleId)
        }
    }

    /// The rules by kind, in order of evaluation.
    package let rules: [MXPushRule.Kind: [MXPushRule]]
    private let inOrder: [MXPushRule]
    private let isMuted: Bool

    /// More than any account has. Further rules are ignored.
    private static let maximumCount = 10_000

    /// Rules that never notify.
    package static let none = PushRules(rules: [:])

    /// - Parameter json: The response of `/pushrules`, or the content of the account data `m.push_rules`. Unknown kinds
    ///   are skipped.
    package init(_ json: JSONView) {
        var rules: [MXPushRule.Kind: [MXPushRule]] = [:]
        let lists = json["global"]
        for kind in MXPushRule.Kind.allCases {
            let list = lists?[kind.rawValue]?.array ?? []
            // Detach the rules, since they outlive the answer they came in.
            rules[kind] = list.prefix(Self.maximumCount).compactMap { MXPushRule($0.detached, kind: kind) }
        }
        self.init(rules: rules)
    }

    private init(rules: [MXPushRule.Kind: [MXPushRule]]) {
        self.rules = rules
        let all = MXPushRule.Kind.allCases.flatMap { rules[$0] ?? [] }
        isMuted = all.contains { $0.kind == .override && $0.ruleId == ".m.rule.master" && $0.isEnabled }
        inOrder = all.filter { $0.isEnabled && $0.ruleId != ".m.rule.master" }
    }

    /// Evaluates the rules for an event.
    ///
    /// - Parameters:
    ///   - state: The state of the event's room, for names and power levels.
    ///   - userId: The current user. Their own events never notify.
    ///   - joinedCount: The number of joined members; `nil` counts those in `state`.
    package func decision(
        for event: MXEvent, in state: MXRoomState, currentUser userId: String, joinedCount: Int? = nil
    ) -> Decision {
        guard !isMuted, event.sender != userId else { return Decision() }
        var asked = PushedEvent(event, state, userId, joinedCount)
        guard let rule = inOrder.first(where: { asked.matches($0) }) else { return Decision() }
        guard rule.notifies else { return Decision(ruleId: rule.ruleId) }
        return Decision(notify: true, highlight: rule.highlights, sound: rule.sound, ruleId: rule.ruleId)
    }
}

/// An event under evaluation. Values that several rules need are read once.
private struct PushedEvent {
    private let event: MXEvent
    private let state: MXRoomState
    private let userId: String
    private let joinedCount: Int?
    private var values: [[String]: JSONView?] = [:]
    private var subjects: [[String]: GlobPattern.Subject?] = [:]
    private var displayName: GlobPattern??

    init(_ event: MXEvent, _ state: MXRoomState, _ userId: String, _ joinedCount: Int?) {
        (self.event, self.state, self.userId, self.joinedCount) = (event, state, userId, joinedCount)
    }

    mutating func matches(_ rule: MXPushRule) -> Bool {
        for condition in rule.conditions {
            guard holds(condition) else { return false }
        }
        return true
    }

    private mutating func holds(_ condition: PushCondition) -> Bool {
        switch condition {
        case .eventMatch(let path, let pattern, let isWords):
            guard let subject = subject(path) else { return false }
            return isWords ? pattern.matchesWords(of: subject) : pattern.matchesAll(of: subject)
        case .eventPropertyIs(let path, let value):
            return self.value(path).flatMap(PushCondition.Scalar.init) == value
        case .eventPropertyContains(let path, let value):
            return self.value(path)?.array?.contains { PushCondition.Scalar($0) == value } ?? false
        case .containsDisplayName:
            guard let name = ownName(), let body = subject(["content", "body"]) else { return false }
            return name.matchesWords(of: body)
        case .roomMemberCount(let comparison, let count):
            return comparison.holds(joinedCount ?? state.membersCount(with: .join), count)
        case .senderNotificationPermission(let key):
            return state.powerLevels.canNotifyRoom(event.sender, kind: key)
        case .never:
            return false
        }
    }

    private mutating func ownName() -> GlobPattern? {
        if let displayName { return displayName }
        let name = state.members.member(withUserId: userId)?.displayname
        let pattern = name.flatMap { $0.isEmpty ? nil : GlobPattern($0, isLiteral: true) }
        displayName = .some(pattern)
        return pattern
    }

    private mutating func subject(_ path: [String]) -> GlobPattern.Subject? {
        if let known = subjects[path] { return known }
        let subject = text(path).map { GlobPattern.Subject($0) }
        subjects[path] = .some(subject)
        return subject
    }

    private mutating func text(_ path: [String]) -> String? {
        switch path {
        case ["type"]: event.type
        case ["room_id"]: event.roomId ?? state.roomId
        case ["sender"]: event.sender
        default: value(path)?.string
        }
    }

    private mutating func value(_ path: [String]) -> JSONView? {
        if let known = values[path] { return known }
        var found: JSONView? = path.first == "content" ? event.contentJSON : path.first.flatMap { event.json[$0] }
        for key in path.dropFirst() { found = found?[key] }
        values[path] = .some(found)
        return found
    }
}
