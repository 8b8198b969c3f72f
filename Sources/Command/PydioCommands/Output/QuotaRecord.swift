import CommandKit
import PydioSDK

/// The storage use of a workspace, as a line.
struct QuotaRecord: ListRecord {
    let quota: PydioQuota
    let workspace: PydioWorkspace

    var json: String {
        var line = JSONLine(type: "quota")
        line.add("workspace_id", workspace.id)
        line.add("used", Int(quota.used))
        line.add("total", quota.total.map { Int($0) })
        return line.text
    }

    /// Returns columns such as `plans  250 of 1000 bytes  25 %`, or `plans  250 bytes  no limit`.
    func columns(style: TextStyle) -> [TerminalText] {
        guard let total = quota.total else {
            return [style.event(workspace.name), "\(String(quota.used)) bytes", "no limit"]
        }
        let percent = (Double(quota.used) / Double(total) * 100).rounded(.down)
        return [
            style.event(workspace.name), "\(String(quota.used)) of \(String(total)) bytes",
            "\(String(Int(min(percent, 1_000_000)))) %",
        ]
    }
}
