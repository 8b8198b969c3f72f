import CommandKit
import PydioSDK

/// An administrator's view of a user of a Pydio server, as a line.
struct AccountRecord: ListRecord {
    let account: PydioUserAccount

    var json: String {
        var line = JSONLine(type: "account")
        line.add("user_id", account.userId)
        line.add("display_name", account.displayName)
        line.add("group", account.groupPath)
        line.add("administrator", json: String(account.isAdministrator))
        line.add("guest", json: String(account.isGuest))
        line.add("roles", account.roles.isEmpty ? nil : account.roles.joined(separator: ","))
        return line.text
    }

    /// Returns columns such as `carol  Carol Jones  administrator  /sales  WEST, EAST`.
    func columns(style: TextStyle) -> [TerminalText] {
        [
            style.channel(account.userId), TerminalText(account.displayName ?? ""),
            account.isAdministrator ? "administrator" : account.isGuest ? "guest" : "",
            TerminalText(account.groupPath == "/" ? "" : account.groupPath),
            TerminalText(account.roles.joined(separator: ", ")),
        ]
    }
}
