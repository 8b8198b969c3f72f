import ArgumentParser

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

    @OptionGroup var relocation: RelocationOptions

    func run() async throws { try await relocation.run(isMove: false) }
}
