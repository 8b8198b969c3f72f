import ArgumentParser
import CommandKit
import PydioSDK

struct PydioShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share", abstract: "Create a public link to a file or a folder, and print it.",
        discussion: """
            Anyone with the link can see and download the file or folder, until you run unshare. Each call creates \
            another link. The server may limit how long a link lasts and how often it can be used.

            With --link, changes a link instead: only what you name, and its address stays the same. Servers before \
            version 7 cannot remove an expiry or a limit of downloads.

            Examples:
              pusher-cli pydio share plans:/plan.pdf --expires 7
              pusher-cli pydio share plans:/docs --password-stdin < password
              pusher-cli pydio share plans:/docs --link https://example.org/public/x7f2 \\
                --no-password --expires 30
            """)

    /// The maximum of a hundred years: servers count in seconds.
    private static let maximumDays = 36_500
    private static let maximumDownloads = Int(Int32.max)

    @Argument(
        help: ArgumentHelp("File or folder: WORKSPACE:/path.", valueName: "remote"), transform: { try RemotePath($0) })
    var remote: RemotePath

    @Option(
        help: ArgumentHelp("Change this link, as links prints it, instead of creating one.", valueName: "link"),
        transform: { try LinkArgument($0) })
    var link: LinkArgument?

    @Flag(help: "Read a password for visitors from standard input. Default: no password.")
    var passwordStdin = false

    @Flag(name: .customLong("no-password"), help: "With --link: remove the password.")
    var removesPassword = false

    @Option(help: ArgumentHelp("Days from now until the link expires. Default: the server's.", valueName: "days"))
    var expires: Int?

    @Flag(name: .customLong("no-expiry"), help: "With --link: let it last for as long as the server allows.")
    var removesExpiry = false

    @Option(help: ArgumentHelp("Downloads until the link expires. Default: the server's.", valueName: "n"))
    var downloads: Int?

    @Flag(
        name: .customLong("no-download-limit"), help: "With --link: allow as many downloads as the server does.")
    var removesDownloadLimit = false

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
        let removals = removesPassword || removesExpiry || removesDownloadLimit
        guard link != nil || !removals else {
            throw ValidationError(
                "--no-password, --no-expiry and --no-download-limit change a link: name it with --link.")
        }
        guard
            !(passwordStdin && removesPassword), expires == nil || !removesExpiry,
            downloads == nil || !removesDownloadLimit
        else { throw ValidationError("The same setting cannot be set and removed.") }
        guard link == nil || removals || passwordStdin || expires != nil || downloads != nil || label != nil else {
            throw ValidationError("Say what to change: --password-stdin, --expires, --downloads, --label.")
        }
    }

    func run() async throws {
        try await pydio.run { account in
            var password: String?
            if passwordStdin {
                password = try SecretInput.fromStandardInput("password")
                guard password != nil else { throw CommandFailure(.interrupted, "interrupted: nothing is changed") }
            }
            let report = TransferReport(json: json)
            try await report.trying("\(remote)") {
                let workspace = try await account.workspace(remote.workspace)
                _ = try await workspace.existingNode(at: remote.path)
                if let link { return try await change(link, password, in: workspace) }
                var params = PublicLinkRequestParams(workspaceId: workspace.id, path: remote.path)
                (params.label, params.password) = (label, password)
                (params.expirationDays, params.downloadLimit) = (expires, downloads)
                let record = LinkRecord(params, url: try await workspace.client.createPublicLink(params))
                _ = json ? StandardOutput.write(json: record.json) : StandardOutput.write(record.text)
            }
            try report.end()
        }
    }

    private func change(_ link: LinkArgument, _ password: String?, in workspace: PydioWorkspace) async throws {
        var changes = PublicLinkChanges()
        changes.password = PydioChange(password, isRemoved: removesPassword)
        changes.expirationDays = PydioChange(expires, isRemoved: removesExpiry)
        changes.downloadLimit = PydioChange(downloads, isRemoved: removesDownloadLimit)
        changes.label = label
        let changed = try await workspace.client.changePublicLink(
            workspaceId: workspace.id, path: remote.path, linkId: link.id, changes: changes)
        let record = PublicLinkRecord(link: changed, workspaceID: workspace.id, path: remote.path)
        _ = json ? StandardOutput.write(json: record.json) : StandardOutput.write(record.address)
    }
}

extension PydioChange {
    /// Keeps the current value if there is none, unless it is removed.
    fileprivate init(_ value: Value?, isRemoved: Bool) {
        self = value.map { .set($0) } ?? (isRemoved ? .remove : .keep)
    }
}
