import ArgumentParser
import Basics
import CommandKit
import Foundation
import PydioSDK
import PydioSync

struct PydioSyncCommand: AsyncParsableCommand, EndedBySignal {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Synchronize a local folder with a folder in a workspace.",
        discussion: """
            Copies changes both ways; both folders must exist. The first sync merges the folders and deletes nothing. \
            Later ones also copy deletions; a change wins over a deletion. If a file has changed on both sides, both \
            are kept: the local one is renamed, for example to “plan (conflict 2026-11-24).txt”.

            What was synced is remembered in LOCAL/.pydio-sync. You can interrupt a sync at any time; the next one \
            continues. Links, names that begin with a dot and names that servers change are reported and left out; \
            the rest is synced, and the exit status is then 65.

            Without a change log on the server, sync does not notice a change that leaves a file's size and \
            modification time (in seconds) the same. With one, sync lists only what the log says has changed, and \
            everything once a day.

            Examples:
              pusher-cli pydio sync ~/plans plans:/docs --dry-run
              pusher-cli pydio sync ~/plans plans:/docs --watch
              pusher-cli pydio sync --up ~/photos my-files:/photos
            """)

    @Argument(help: "The local folder.", completion: .directory)
    var local: String

    @Argument(
        help: ArgumentHelp("The folder on the server: WORKSPACE:/path.", valueName: "remote"),
        transform: { try RemotePath($0) })
    var remote: RemotePath

    @Flag(help: "Only copy local changes to the server.")
    var up = false

    @Flag(help: "Only copy the server's changes here.")
    var down = false

    @Flag(name: .customLong("dry-run"), help: "Print what would be done, and change nothing.")
    var isDryRun = false

    @Flag(help: "Keep running, and sync again whenever something changes. Ctrl-C ends it.")
    var watch = false

    @Flag(
        name: .customLong("allow-empty"),
        help: "If nothing is left on one side, delete everything on the other. Without it, sync stops there.")
    var allowsEmptying = false

    @Flag(help: "Print one JSON object per step.")
    var json = false

    @OptionGroup var polling: PydioWatchOptions
    @OptionGroup var pydio: PydioOptions

    /// A continuous sync ends normally when the user stops it.
    var endsBySignal: Bool { watch }

    func validate() throws {
        guard !local.isEmpty else { throw ValidationError("LOCAL cannot be empty.") }
        guard !up || !down else { throw ValidationError("--up and --down cannot be used together.") }
        guard !isDryRun || !watch else { throw ValidationError("--dry-run and --watch cannot be used together.") }
    }

    private var options: PydioSyncOptions {
        var options = PydioSyncOptions()
        options.direction = up ? .up : down ? .down : .both
        options.allowsEmptying = allowsEmptying
        options.events = polling.events
        return options
    }

    func run() async throws {
        let folder = URL(filePath: local, directoryHint: .isDirectory)
        guard LocalNode.followed(folder) == .folder else {
            throw CommandFailure(.badData, "there is no folder \(local): create it first")
        }
        let report = SyncReport(json: json, wholeName: "\(remote)")
        if watch {
            // If it is stopped while waiting for changes, its work is done.
            let end: Void? = try await SignalWatch.interrupting { try await sync(folder, report) }
            guard end != nil || report.isSettled else { throw CommandFailure.interrupted }
        } else {
            try await sync(folder, report)
        }
        try report.end()
    }

    private func sync(_ folder: URL, _ report: SyncReport) async throws {
        try await pydio.run { account in
            let workspace = try await account.workspace(remote.workspace)
            let sync = PydioFolderSync(
                client: account.client, workspaceId: workspace.id, remoteFolder: remote.path, localFolder: folder,
                account: account.login.user, options: options)
            if isDryRun {
                report.tell(try await sync.plan(), allowsEmptying: allowsEmptying)
            } else if watch {
                try await sync.watch(report.tell)
            } else {
                report.tell(try await sync.run(report.tell))
            }
        }
    }
}
