import ArgumentParser
import PydioSDK

struct PydioMoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mv", abstract: "Move or rename files and folders within a workspace.",
        usage: "pusher-cli pydio mv <source> ... <target> [<options>]",
        discussion: """
            Moves into TARGET if that is a folder; otherwise TARGET is the new name.

            Examples:
              pusher-cli pydio mv plans:/draft.pdf plans:/docs/plan.pdf
              pusher-cli pydio mv plans:/a.txt plans:/b.txt plans:/docs/
            """)

    @Argument(
        help: ArgumentHelp(
            "The sources, then the target: WORKSPACE:/path, all in one workspace.", valueName: "source ... target"),
        transform: { try RemotePath($0) })
    var paths: [RemotePath]

    @Flag(help: "Replace an existing file.")
    var force = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws { try Relocation.validate(paths) }

    func run() async throws {
        try await pydio.run { account in
            try await Relocation.run(paths, of: account, isMove: true, replaces: force, TransferReport(json: json))
        }
    }
}
