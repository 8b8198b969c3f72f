import ArgumentParser

struct PydioCopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cp", abstract: "Copy files and folders.",
        usage: "pusher-cli pydio cp <source> ... <target> [<options>]",
        discussion: """
            Copies into TARGET if that is a folder; otherwise TARGET is the name of the copy. The server makes the \
            copy, also into another workspace, and copies folders with everything in them.

            Examples:
              pusher-cli pydio cp plans:/plan.pdf plans:/archive/plan-2026.pdf
              pusher-cli pydio cp plans:/docs team:/
            """)

    @OptionGroup var relocation: RelocationOptions

    func run() async throws { try await relocation.run(isMove: false) }
}
