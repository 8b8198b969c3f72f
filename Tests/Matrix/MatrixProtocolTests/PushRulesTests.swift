import Foundation
import JSONBytes
import Testing

@testable import MatrixProtocol

@Suite struct PushRulesTests {
    private func rules(_ lists: [MXPushRule.Kind: [String]]) throws -> PushRules {
        let all = lists.map { "\"\($0.key.rawValue)\":[\($0.value.joined(separator: ","))]" }
        return PushRules(try JSONView(text: "{\"global\":{\(all.joined(separator: ","))}}"))
    }

    private func rule(
        _ id: String = "rule", _ conditions: String = "[]", actions: String = #"["notify"]"#, enabled: Bool = true,
        pattern: String? = nil
    ) -> String {
        let pattern = pattern.map { ",\"pattern\":\"\($0)\"" } ?? ""
        return """
            {"rule_id":"\(id)","default":false,"enabled":\(enabled),"actions":\(actions),"conditions":\(conditions)\(pattern)}
            """
    }

    private func state(members: Int = 2) throws -> MXRoomState {
        var state = MXRoomState(try .member("@me:x", name: "Mé *Me*"))
        for index in 1..<max(members, 2) { state.apply(try .member("@m\(index):x")) }
        state.apply(try .make("m.room.power_levels", ["users": ["@mod:x": 50]], key: ""))
        return state
    }

    private func decide(_ rules: PushRules, _ event: MXEvent, joined: Int? = nil) throws -> PushRules.Decision {
        rules.decision(for: event, in: try state(), currentUser: "@me:x", joinedCount: joined)
    }

    private func holds(_ condition: String, _ event: MXEvent, joined: Int? = nil) throws -> Bool {
        try decide(try rules([.underride: [rule("r", "[\(condition)]")]]), event, joined: joined).notify
    }

    private func message(_ body: String, sender: String = "@a:x") throws -> MXEvent {
        try .make("m.room.message", ["msgtype": "m.text", "body": body], sender: sender)
    }

    @Test func ownEventsNeverNotify() throws {
        let rules = try rules([.underride: [rule()]])
        #expect(try decide(rules, message("hi")).notify)
        #expect(try !decide(rules, message("hi", sender: "@me:x")).notify)
    }

    @Test func theMasterRuleSilencesAllWhenItIsOn() throws {
        let others = [rule("r")]
        let on = try rules([.override: [rule(".m.rule.master", actions: "[]")], .underride: others])
        let off = try rules([.override: [rule(".m.rule.master", actions: "[]", enabled: false)], .underride: others])
        #expect(try !decide(on, message("hi")).notify)
        #expect(try decide(off, message("hi")).notify)
    }

    @Test func kindsAreAskedInOrderAndTheFirstMatchDecides() throws {
        var lists: [MXPushRule.Kind: [String]] = [
            .underride: [rule("u")], .sender: [rule("@a:x")], .room: [rule("!r:x")],
            .content: [rule("c", pattern: "hi")], .override: [rule("o"), rule("o2")],
        ]
        for (kind, id) in [
            (MXPushRule.Kind.override, "o"), (.content, "c"), (.room, "!r:x"), (.sender, "@a:x"), (.underride, "u"),
        ] {
            #expect(try decide(try rules(lists), message("hi")).ruleId == id)
            lists[kind] = nil
        }
        #expect(try decide(try rules(lists), message("hi")) == PushRules.Decision())
    }

    @Test func disabledRulesAreNotAsked() throws {
        let rules = try rules([.underride: [rule("1", enabled: false), rule("2")]])
        #expect(try decide(rules, message("hi")).ruleId == "2")
    }

    @Test(
        arguments: [
            (#"["notify"]"#, PushRules.Decision(notify: true, ruleId: "rule")),
            (#"[]"#, PushRules.Decision(ruleId: "rule")), (#"["dont_notify"]"#, PushRules.Decision(ruleId: "rule")),
            (#"["coalesce"]"#, PushRules.Decision(ruleId: "rule")),
            (
                #"["notify",{"set_tweak":"sound","value":"ring"},{"set_tweak":"highlight"}]"#,
                PushRules.Decision(notify: true, highlight: true, sound: "ring", ruleId: "rule")
            ),
            (
                #"["notify",{"set_tweak":"highlight","value":false},{"set_tweak":"odd"},7]"#,
                PushRules.Decision(notify: true, ruleId: "rule")
            ),
            (#"[{"set_tweak":"highlight"}]"#, PushRules.Decision(ruleId: "rule")),
        ] as [(String, PushRules.Decision)])
    func actionsMakeTheDecision(actions: String, decision: PushRules.Decision) throws {
        #expect(try decide(try rules([.underride: [rule(actions: actions)]]), message("hi")) == decision)
    }

    @Test func unknownKindsAndBrokenRulesAreLeftOut() throws {
        let json = try JSONView(
            text:
                #"{"global":{"postcontent":[{"rule_id":"p","actions":["notify"]}],"room":7,"underride":[7,{},{"rule_id":"u","actions":["notify"]}]}}"#
        )
        let rules = PushRules(json)
        #expect(rules.rules[.underride]?.map(\.ruleId) == ["u"])
        #expect(rules.rules[.room]?.isEmpty == true)
        #expect(try decide(rules, message("hi")).ruleId == "u")
        #expect(try !decide(PushRules(try JSONView(text: "[]")), message("hi")).notify)
    }

    // MARK: Conditions

    @Test(
        arguments: [
            ("type", "m.room.message", true), ("type", "m.room.*", true), ("type", "M.ROOM.MESSAGE", true),
            ("type", "room", false), ("sender", "@a:?", true), ("room_id", "!r:x", true), ("room_id", "!r:y", false),
            ("content.msgtype", "m.t*t", true), ("content.missing", "*", false), ("content.number", "*", false),
            (#"content.dotted\\.key"#, "v", true), ("content.dotted.key", "v", false),
            ("content.deep.er", "below", true),
            ("content.body", "cake", true), ("content.body", "cak", false), ("content.body", "ca?e", true),
            ("content.body", "ate*the", true), ("content.body", "you", false), ("state_key", "", false),
        ])
    func eventMatchGlobs(key: String, pattern: String, expected: Bool) throws {
        let content: [String: Any] = [
            "msgtype": "m.text", "body": "They ate, sadly, the CAKE!", "number": 5, "dotted.key": "v",
            "deep": ["er": "below"],
        ]
        let event = try MXEvent.make("m.room.message", content)
        #expect(try holds(#"{"kind":"event_match","key":"\#(key)","pattern":"\#(pattern)"}"#, event) == expected)
    }

    @Test(
        arguments: [
            (#""m.text""#, "content.s", false), (#""text""#, "content.s", true), ("5", "content.n", true),
            (#""5""#, "content.n", false), ("5", "content.s5", false), ("true", "content.t", true),
            ("1", "content.t", false), ("null", "content.z", true), ("null", "content.missing", false),
            (#""Text""#, "content.s", false), (#""text""#, "content.list", false),
        ])
    func eventPropertyIsExact(value: String, key: String, expected: Bool) throws {
        let event = try MXEvent.parse(
            #"{"type":"t","sender":"@a:x","content":{"s":"text","n":5,"s5":"5","t":true,"z":null,"list":["text"]}}"#)
        #expect(try holds(#"{"kind":"event_property_is","key":"\#(key)","value":\#(value)}"#, event) == expected)
    }

    @Test(arguments: [(#""@me:x""#, true), ("7", true), (#""7""#, false), ("null", true), (#""@you:x""#, false)])
    func eventPropertyContainsLooksIntoArrays(value: String, expected: Bool) throws {
        let event = try MXEvent.parse(
            #"{"type":"t","sender":"@a:x","content":{"m.mentions":{"user_ids":["@me:x",7,null,{}]}}}"#)
        let condition =
            #"{"kind":"event_property_contains","key":"content.m\\.mentions.user_ids","value":\#(value)}"#
        #expect(try holds(condition, event) == expected)
    }

    @Test(
        arguments: [
            ("hello MÉ *ME*!", true), ("mé *me*", true), ("mé me", false), ("amé *me*", false), ("", false),
        ])
    func containsDisplayNameFindsTheNameAsWords(body: String, expected: Bool) throws {
        // `é` is not a word character: a word may end before it.
        let event = try message(body)
        #expect(try holds(#"{"kind":"contains_display_name"}"#, event) == expected)
    }

    @Test(
        arguments: [
            ("2", 2, true), ("==2", 2, true), ("2", 3, false), ("<3", 2, true), ("<2", 2, false), (">1", 2, true),
            (">2", 2, false), ("<=2", 2, true), (">=3", 2, false), ("", 2, false), ("two", 2, false), ("=2", 2, false),
            ("> 1", 2, false), ("99999999999999999999", 2, false),
        ])
    func roomMemberCountCompares(condition: String, joined: Int, expected: Bool) throws {
        let event = try message("hi")
        #expect(try holds(#"{"kind":"room_member_count","is":"\#(condition)"}"#, event, joined: joined) == expected)
    }

    @Test func roomMemberCountTakesTheStatesMembersWithoutASummary() throws {
        #expect(try holds(#"{"kind":"room_member_count","is":"2"}"#, try message("hi")))
    }

    @Test func theSendersLevelMustAllowTheNotification() throws {
        let condition = #"{"kind":"sender_notification_permission","key":"room"}"#
        #expect(try holds(condition, try message("@room", sender: "@mod:x")))
        #expect(try !holds(condition, try message("@room")))
    }

    @Test(
        arguments: [
            #"{"kind":"of_tomorrow"}"#, "{}", "7", #"{"kind":"event_match","key":"type"}"#,
            #"{"kind":"event_match","pattern":"*"}"#, #"{"kind":"event_property_is","key":"type","value":[]}"#,
        ])
    func aConditionThatIsNotUnderstoodNeverHolds(condition: String) throws {
        #expect(try !holds(condition, try message("hi")))
    }

    @Test func aRuleWithTooManyConditionsNeverMatches() throws {
        let one = #"{"kind":"event_match","key":"type","pattern":"*"}"#
        let many = Array(repeating: one, count: 65).joined(separator: ",")
        #expect(try holds(one, try message("hi")))
        #expect(try !holds(many, try message("hi")))
        #expect(try holds(Array(repeating: one, count: 64).joined(separator: ","), try message("hi")))
    }

    @Test func contentRulesMatchWordsOfTheBody() throws {
        let rules = try rules([.content: [rule("c", pattern: "al*ce")]])
        #expect(try decide(rules, message("ping Alice.")).notify)
        #expect(try !decide(rules, message("malice")).notify)
        #expect(try !decide(rules, .make("m.room.message", ["body": 7])).notify)
    }

    @Test func idsOfRoomAndSenderRulesAreNoPatterns() throws {
        let rules = try rules([.room: [rule("!*")], .sender: [rule("@?:x")]])
        #expect(try !decide(rules, message("hi")).notify)
    }

    @Test func theDefaultRulesOfAServerDecideAsItWould() throws {
        let rules = try rules([
            .override: [
                rule(".m.rule.master", actions: "[]", enabled: false),
                rule(
                    ".m.rule.suppress_notices",
                    #"[{"kind":"event_match","key":"content.msgtype","pattern":"m.notice"}]"#,
                    actions: "[]"),
                rule(
                    ".m.rule.is_user_mention",
                    #"[{"kind":"event_property_contains","key":"content.m\\.mentions.user_ids","value":"@me:x"}]"#,
                    actions: #"["notify",{"set_tweak":"highlight"},{"set_tweak":"sound","value":"default"}]"#),
                rule(
                    ".m.rule.reaction", #"[{"kind":"event_match","key":"type","pattern":"m.reaction"}]"#, actions: "[]"),
                rule(
                    ".m.rule.suppress_edits",
                    #"[{"kind":"event_property_is","key":"content.m\\.relates_to.rel_type","value":"m.replace"}]"#,
                    actions: "[]"),
            ],
            .underride: [
                rule(
                    ".m.rule.message", #"[{"kind":"event_match","key":"type","pattern":"m.room.message"}]"#,
                    actions: #"["notify",{"set_tweak":"highlight","value":false}]"#)
            ],
        ])
        #expect(try decide(rules, message("hi")).ruleId == ".m.rule.message")
        #expect(try !decide(rules, .make("m.room.message", ["msgtype": "m.notice", "body": "b"])).notify)
        #expect(try !decide(rules, .make("m.reaction", MessageContent.reaction("+", to: "$1"))).notify)
        let edit = MessageContent.edit(of: "$1", to: MessageContent.text("b"))
        #expect(try decide(rules, .make("m.room.message", edit)).ruleId == ".m.rule.suppress_edits")
        let mention = MessageContent.text("b", mentions: MessageContent.Mentions(userIds: ["@me:x"]))
        #expect(
            try decide(rules, .make("m.room.message", mention))
                == PushRules.Decision(
                    notify: true, highlight: true, sound: "default", ruleId: ".m.rule.is_user_mention"))
    }
}
