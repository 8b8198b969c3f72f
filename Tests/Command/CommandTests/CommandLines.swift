import ArgumentParser

@testable import CommandKit

/// Command lines, one for each command.
enum CommandLines {
    /// Returns the words of every command below another one, without groups of subcommands.
    static func names(of command: any ParsableCommand.Type, _ path: [String] = []) -> [[String]] {
        let subcommands = command.configuration.subcommands
        guard !subcommands.isEmpty else { return [path] }
        return subcommands.flatMap { names(of: $0, path + [$0.configuration.commandName ?? $0._commandName]) }
    }

    /// A valid line for each command of `matrix` that contacts a homeserver.
    static let ofMatrix: [[String]] = [
        ["login", server, "--user", "ada", "--password-stdin"], ["logout"], ["rooms"], ["listen"],
        ["send", room, "hi"],
        ["messages", room], ["create", "--name", "Lobby"], ["join", room], ["leave", room], ["invite", room, user],
        ["kick", room, user], ["ban", room, user], ["unban", room, user], ["topic", room], ["members", room],
        ["react", room, "$1", "x"], ["search", "hi"], ["read", room], ["receipts", room], ["upload", file],
        ["download", "mxc://hs/1", "-"], ["devices"], ["push-rules"],
    ]

    /// A valid line for each command of `pydio`.
    static let ofPydio: [[String]] = [
        ["login", server, "--user", "ada", "--password-stdin"], ["logout"], ["passwd", "--password-stdin"],
        ["workspaces"], ["ls", "plans:"], ["get", "plans:/a.txt", "-"], ["put", file, "plans:/docs/"],
        ["sync", folder, "plans:/docs"], ["cat", "plans:/a.txt"], ["mkdir", "plans:/new"],
        ["mv", "plans:/b.txt", "plans:/c.txt"], ["cp", "plans:/a.txt", "plans:/d.txt"],
        ["rm", "plans:/e.txt", "--force"], ["restore", "plans:/a.txt"], ["empty-bin", "plans", "--force"],
        ["compress", "plans:/a.txt", "plans:/a.zip"], ["extract", "plans:/a.zip", "plans:/docs/"],
        ["chmod", "640", "plans:/a.txt"],
        ["meta", "plans:/a.txt"], ["comments", "plans:/a.txt"], ["lock", "plans:/a.txt"], ["unlock", "plans:/a.txt"],
        ["notify", "plans:/a.txt"], ["feed", "plans"], ["purge", "plans", "--force"], ["search", "plans", "a"],
        ["stat", "plans:/a.txt"], ["quota"], ["share", "plans:/a.txt"], ["links", "plans:/a.txt"],
        ["unshare", "plans:/a.txt"], ["bookmarks"], ["changes", "plans", "--since", "0"], ["watch", "plans"],
        ["api", "GET", "v2/fs/plans/"],
        ["admin", "users"], ["admin", "add-user", "dave", "--password-stdin"],
        ["admin", "change-user", "carol", "--lock"], ["admin", "remove-user", "carol", "--force"],
        ["admin", "workspaces"], ["admin", "add-workspace", "Sales", "--path", "/srv/sales"],
        ["admin", "remove-workspace", "team", "--force"], ["admin", "grant", "carol", "plans", "read"],
    ]

    /// Placeholders in the lines that a test fills in.
    static let (server, file, folder) = ("SERVER", "FILE", "FOLDER")
    private static let (room, user) = ("!r:hs", "@bob:hs")

    /// Returns the words of a line that form its command's name.
    static func name(of line: [String]) -> [String] { Array(line.prefix(line.first == "admin" ? 2 : 1)) }
}
