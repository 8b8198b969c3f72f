import ArgumentParser
import PydioSDK

struct PydioCopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cp", abstract: "Copy files and folders within a workspace.",
        usage: "pusher-cli pydio cp <source> ... <target> [<options>]",
        discussion: """
            Into TARGET if that is a folder; else TARGET is the copy's name. The server copies, folders with all that is in them.

            Example:
              pusher-cli pydio cp plans:/plan.pdf plans:/archive/plan-2026.pdf
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
            try await Relocation.run(paths, of: account, isMove: false, replaces: force, TransferReport(json: json))
        }
    }
}
