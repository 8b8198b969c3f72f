import CommandKit

/// A change by an administrator, as JSON.
struct AdministrationRecord {
    enum Kind: String {
        case userAdded = "user_added"
        case userChanged = "user_changed"
        case userRemoved = "user_removed"
        case rightsSet = "rights_set"
        case workspaceAdded = "workspace_added"
        case workspaceRemoved = "workspace_removed"
    }

    let kind: Kind
    /// The id of the user.
    var id: String?
    var workspaceID: String?
    var rights: String?

    var json: String {
        var line = JSONLine(type: kind.rawValue)
        line.add("user_id", id)
        line.add("workspace_id", workspaceID)
        line.add("rights", rights)
        return line.text
    }

    /// Prints JSON on request; otherwise prints nothing on success.
    func write(json isWanted: Bool) {
        if isWanted { _ = StandardOutput.write(json: json) }
    }
}
