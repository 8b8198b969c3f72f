import ArgumentParser
import CommandKit
import PydioSDK

struct PydioCommentsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "comments", abstract: "List the comments on a file or folder, or add and remove them.",
        discussion: """
            Each is printed with its number, time, author and text. The server may cut a long comment. You can remove \
            your own comments. Fails with status 69 if the server has no comments.

            Examples:
              pusher-cli pydio comments plans:/plan.pdf
              pusher-cli pydio comments plans:/plan.pdf --add "The roof is missing."
              pusher-cli pydio comments plans:/plan.pdf --remove 2
            """)

    @Argument(
        help: ArgumentHelp("File or folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remote: RemotePath

    @Option(help: ArgumentHelp("Add a comment.", valueName: "text"))
    var add: String?

    @Option(help: ArgumentHelp("Remove the comment with this number.", valueName: "n"))
    var remove: Int?

    @OptionGroup var output: OutputOptions

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard add == nil || remove == nil else { throw ValidationError("--add and --remove exclude each other.") }
        guard add.map({ !$0.allSatisfy(\.isWhitespace) }) ?? true else {
            throw ValidationError("--add cannot be empty.")
        }
        guard remove.map({ $0 > 0 }) ?? true else { throw ValidationError("--remove must be 1 or more.") }
    }

    func run() async throws {
        try await pydio.run { account in
            let workspace = try await account.workspace(remote.workspace)
            let (client, id) = (workspace.client, workspace.id)
            _ = try await workspace.existingNode(at: remote.path)
            if let add { try await client.addComment(workspaceId: id, path: remote.path, content: add) }
            var comments = try await client.comments(workspaceId: id, path: remote.path)
            if let remove {
                guard comments.indices.contains(remove - 1) else {
                    throw CommandFailure(.badData, "\(remote) has \(comments.count) comments, and no number \(remove)")
                }
                try await client.deleteComment(workspaceId: id, path: remote.path, comment: comments[remove - 1])
                comments = try await client.comments(workspaceId: id, path: remote.path)
            }
            _ = output.write(
                comments.enumerated().map { index, comment in
                    CommentRecord(comment: comment, number: index + 1, path: remote.path, workspace: workspace)
                }, none: "there are no comments")
        }
    }
}
