import ArgumentParser
import PydioSDK

struct PydioShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share", abstract: "Create a public link to a file or a folder, and print it.",
        discussion: """
            Anyone with the link can see and download the file or folder, until you run unshare. Each call creates \
            another link. The server may limit how long a link lasts and how often it can be used.

            Examples:
              pusher-cli pydio share plans:/plan.pdf --expires 7
              pusher-cli pydio share plans:/docs --password-stdin < password
            """)

    /// A hundred years: servers count in seconds.
    private static let maximumDays = 36_500
    private static let maximumDownloads = Int(Int32.max)

    @Argument(
        help: ArgumentHelp("File or folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remote: RemotePath

    @Flag(help: "Read a password for visitors from standard input. Default: no password.")
    var passwordStdin = false

    @Option(help: ArgumentHelp("Days until the link expires. Default: the server's.", valueName: "days"))
    var expires: Int?

    @Option(help: ArgumentHelp("Downloads until the link expires. Default: the server's.", valueName: "n"))
    var downloads: Int?

    @Option(help: "The title that visitors see. Default: the name of the file or folder.")
    var label: String?

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var pydio: PydioOptions

    func validate() throws {
        guard !remote.isTop else {
            throw ValidationError("A workspace as a whole cannot be shared: name a folder in it.")
        }
        guard expires.map({ (1...Self.maximumDays).contains($0) }) ?? true else {
            throw ValidationError("--expires must be 1 to \(Self.maximumDays) days.")
        }
        guard downloads.map({ (1...Self.maximumDownloads).contains($0) }) ?? true else {
            throw ValidationError("--downloads must be 1 or more, up to \(Self.maximumDownloads).")
        }
        guard label.map({ !$0.allSatisfy(\.isWhitespace) }) ?? true else {
            throw ValidationError("--label cannot be empty.")
        }
    }

    func run() async throws {
        try await pydio.run { account in
            var password: String?
            if passwordStdin {
                password = try SecretInput.fromStandardInput("password")
                guard password != nil else { throw CommandFailure(.interrupted, "interrupted: nothing is shared") }
            }
            let report = TransferReport(json: json)
            try await report.trying("\(remote)") {
                let workspace = try await account.workspace(remote.workspace)
                _ = try await workspace.existingNode(at: remote.path)
                var params = PublicLinkRequestParams(workspaceId: workspace.id, path: remote.path)
                (params.label, params.password) = (label, password)
                (params.expirationDays, params.downloadLimit) = (expires, downloads)
                let record = LinkRecord(params, url: try await workspace.client.createPublicLink(params))
                _ = json ? StandardOutput.write(json: record.json) : StandardOutput.write(record.text)
            }
            try report.end()
        }
    }
}
