import CommandKit

/// A user on a presence channel, as a line.
struct UserRecord: ListRecord {
    let id: String
    let channel: String

    var json: String {
        var line = JSONLine(type: "user")
        line.add("channel", channel)
        line.add("user_id", id)
        return line.text
    }

    func columns(style: TextStyle) -> [TerminalText] { [style.channel(id)] }
}
