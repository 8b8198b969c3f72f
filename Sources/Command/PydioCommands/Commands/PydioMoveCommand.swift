import ArgumentParser

struct PydioMoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mv", abstract: "Move or rename files and folders.",
        usage: "pusher-cli pydio mv <source> ... <target> [<options>]",
        discussion: """
            Moves into TARGET if that is a folder; otherwise TARGET is the new name. To move something into another \
            workspace, the server copies it, and the copy is compared with it by names and sizes before the original \
            goes to the recycle bin.

            Examples:
              pusher-cli pydio mv plans:/draft.pdf plans:/docs/plan.pdf
              pusher-cli pydio mv plans:/a.txt plans:/b.txt plans:/docs/
              pusher-cli pydio mv plans:/docs team:/
            """)

    @OptionGroup var relocation: RelocationOptions

    func run() async throws { try await relocation.run(isMove: true) }
}
