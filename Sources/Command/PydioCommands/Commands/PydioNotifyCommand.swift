import ArgumentParser
import CommandKit
import PydioSDK

struct PydioNotifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify", abstract: "Choose what the server notifies you of, or print what you have chosen.",
        discussion: """
            The server sends the notifications itself, usually by email, when somebody changes or reads a file, or \
            anything in a folder. To see events here as they happen, use watch. Fails with status 69 if the server has \
            no notifications.

            Examples:
              pusher-cli pydio notify plans:/docs --of changes
              pusher-cli pydio notify plans:/docs --of nothing
              pusher-cli pydio notify plans:/docs
            """)

    enum Choice: String, ExpressibleByArgument, CaseIterable {
        case changes, reads, both, nothing

        var watch: PydioWatch? {
            switch self {
            case .changes: .changes
            case .reads: .reads
            case .both: .both
            case .nothing: nil
            }
        }
    }

    @OptionGroup var nodes: NodeOptions

    @Option(help: "What to be notified of. Default: print the current choice.")
    var of: Choice?

    func run() async throws {
        let (choice, json) = (of, nodes.json)
        try await nodes.run { remote, workspace, _ in
            if let choice {
                try await workspace.client.setWatch(workspaceId: workspace.id, path: remote.path, to: choice.watch)
            }
            let record = WatchRecord(node: try await workspace.listedNode(at: remote), workspace: workspace)
            _ = json ? StandardOutput.write(json: record.json) : StandardOutput.write(record.text)
        }
    }
}
