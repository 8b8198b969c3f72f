import ArgumentParser

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

    @OptionGroup var relocation: RelocationOptions

    func run() async throws { try await relocation.run(isMove: true) }
}
