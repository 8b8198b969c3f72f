import CommandKit
import JSONBytes
import MatrixSDK

/// A push rule of the account, as a line.
struct PushRuleRecord: ListRecord {
    let rule: MXPushRule

    var json: String {
        var line = JSONLine(type: "push_rule")
        line.add("kind", rule.kind.rawValue)
        line.add("rule_id", rule.ruleId)
        line.add("enabled", json: String(rule.isEnabled))
        line.add("default", json: String(rule.isDefault))
        line.add("pattern", rule.pattern)
        line.add("conditions", json: text(of: "conditions"))
        line.add("actions", json: text(of: "actions"))
        return line.text
    }

    private func text(of field: String) -> String? {
        rule.json[field].map { String(decoding: $0.data, as: UTF8.self) }
    }

    /// Returns columns such as `content  .m.rule.contains_user_name  on  notify, sound default, highlight  “alice”`.
    func columns(style: TextStyle) -> [TerminalText] {
        [
            style.dim(rule.kind.rawValue), style.channel(rule.ruleId), rule.isEnabled ? "on" : "off",
            TerminalText(actions), rule.pattern.map { "“\($0)”" } ?? "",
        ]
    }

    private var actions: String {
        guard rule.notifies else { return "silent" }
        let words = ["notify", rule.sound.map { "sound \($0)" }, rule.highlights ? "highlight" : nil]
        return words.compactMap(\.self).joined(separator: ", ")
    }
}
