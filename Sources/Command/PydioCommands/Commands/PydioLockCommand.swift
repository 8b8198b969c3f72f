import ArgumentParser
import PydioSDK

struct PydioLockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock", abstract: "Lock files and folders, so that nobody else changes them.",
        discussion: """
            A lock of somebody else is left alone. ls --json shows what is locked. A server without locks is reported \
            (exit status 69).

            Example:
              pusher-cli pydio lock plans:/plan.pdf
            """)

    @OptionGroup var nodes: NodeOptions

    func run() async throws {
        try await nodes.run { remote, workspace, report in
            try await workspace.client.lock(workspaceId: workspace.id, path: remote.path)
            report.done(TransferRecord(kind: .locked, workspaceID: workspace.id, path: remote.path))
        }
    }
}

struct PydioUnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock", abstract: "Unlock files and folders.",
        discussion: """
            Example:
              pusher-cli pydio unlock plans:/plan.pdf
            """)

    @OptionGroup var nodes: NodeOptions

    @Flag(help: "Also remove somebody else's lock.")
    var force = false

    func run() async throws {
        try await nodes.run { remote, workspace, report in
            try await workspace.client.unlock(workspaceId: workspace.id, path: remote.path, breaksOthers: force)
            report.done(TransferRecord(kind: .unlocked, workspaceID: workspace.id, path: remote.path))
        }
    }
}
