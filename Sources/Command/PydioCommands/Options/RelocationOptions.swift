import ArgumentParser
import PydioSDK

/// The arguments of `cp` and `mv`.
struct RelocationOptions: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The sources, all in one workspace, then the target: WORKSPACE:/path.", valueName: "source ... target"),
        transform: { try RemotePath($0) })
    var paths: [RemotePath]

    @Flag(help: "Replace an existing file.")
    var force = false

    @Flag(help: "Print one JSON object per line.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws { try Relocation.validate(paths) }

    func run(isMove: Bool) async throws {
        try await pydio.run { account in
            try await Relocation.run(paths, of: account, isMove: isMove, replaces: force, TransferReport(json: json))
        }
    }
}
