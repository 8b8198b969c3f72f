import ArgumentParser
import Foundation
import MatrixSDK

struct MatrixDownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download", abstract: "Download a file, and print where it is.",
        discussion: """
            Without FILE, the file is saved in the current folder under the name that its sender gave it, adapted if \
            that cannot be a file name here, and with a number if the name is taken. An interrupted download leaves \
            nothing behind.

            Example:
              pusher-cli matrix download mxc://example.org/abc photo.jpg
            """)

    @Argument(help: "The file's address: mxc://server/id.")
    var mxc: String

    @Argument(help: "Where to save it: a file, a folder, or - for standard output.", completion: .file())
    var file: String?

    @Flag(help: "Replace an existing file.")
    var force = false

    @OptionGroup var matrix: MatrixOptions

    func validate() throws {
        guard MXContentURI(mxc) != nil else { throw ValidationError("A file's address is mxc://server/id.") }
    }

    private enum Target {
        case file(URL)
        case folder(URL)
        case standardOutput
    }

    func run() async throws {
        let client = try matrix.account().client
        switch try target() {
        case .file(let url):
            let done = try await transfer { try await client.downloadContent(mxc, to: url, onProgress: $0) }
            _ = StandardOutput.write(TerminalText(done.file.path))
        case .folder(let url):
            let done = try await transfer {
                try await client.downloadContent(mxc, intoFolder: url, onProgress: $0)
            }
            _ = StandardOutput.write(TerminalText(done.file.path))
        case .standardOutput:
            // Through a file, so that what breaks off is not taken for the whole.
            let file = try await TemporaryFile.holding { part in
                _ = try await transfer { try await client.downloadContent(mxc, to: part, onProgress: $0) }
            }
            try file.copyToStandardOutput()
        }
    }

    private func target() throws(CommandFailure) -> Target {
        guard let file else { return .folder(URL(filePath: FileManager.default.currentDirectoryPath)) }
        if file == "-" { return .standardOutput }
        let url = URL(filePath: file)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else { return .file(url) }
        if isFolder.boolValue { return .folder(url) }
        guard force else { throw CommandFailure(.badData, "\(file) already exists: --force replaces it") }
        return .file(url)
    }

    private func transfer(
        _ download: @escaping @Sendable (@escaping @Sendable (MXTransferProgress) -> Void) async throws -> MXDownload
    ) async throws -> MXDownload {
        let line = TransferLine()
        defer { line.erase() }
        return try await download { [mxc] in line.show($0.completed, of: $0.total, mxc) }
    }
}
