import ArgumentParser
import PydioSDK

struct PydioMoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mv", abstract: "Move or rename files and folders within a workspace.",
        usage: "pusher-cli pydio mv <source> ... <target> [<options>]",
        discussion: """
            Into TARGET if that is a folder; else TARGET is the new name.

            Examples:
              pusher-cli pydio mv plans:/draft.pdf plans:/docs/plan.pdf
              pusher-cli pydio mv plans:/a.txt plans:/b.txt plans:/docs/
            """)

    @Argument(
        help: ArgumentHelp(
            "What, and where to at the end: WORKSPACE:/path, all in one workspace.", valueName: "source ... target"),
        transform: { try RemotePath($0) })
    var paths: [RemotePath]

    @Flag(help: "Replace a file that is there.")
    var force = false

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws { try Relocation.validate(paths) }

    func run() async throws {
        try await pydio.run { account in
            try await Relocation.run(paths, of: account, isMove: true, replaces: force, TransferReport(json: json))
        }
    }
}
