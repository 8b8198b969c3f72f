import ArgumentParser
import PydioSDK

struct PydioNotifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify", abstract: "Choose what the server notifies you of, or print what you have chosen.",
        discussion: """
            The server sends notifications by itself, by mail as a rule: of changes or reads of a file, or of what is in \
            a folder. To see events here as they happen, use watch. A server without notifications is reported (exit \
            status 69).

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

    @Option(help: "What to be notified of. Default: print what it is.")
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
