import ArgumentParser
import PydioSDK

struct PydioCopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cp", abstract: "Copy files and folders within a workspace.",
        usage: "pusher-cli pydio cp <source> ... <target> [<options>]",
        discussion: """
            Copies into TARGET if that is a folder; otherwise TARGET is the name of the copy. The server makes the \
            copy, and copies folders with everything in them.

            Example:
              pusher-cli pydio cp plans:/plan.pdf plans:/archive/plan-2026.pdf
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
            try await Relocation.run(paths, of: account, isMove: false, replaces: force, TransferReport(json: json))
        }
    }
}
