import ArgumentParser
import CommandKit
import Foundation
import MatrixProtocol
import MatrixSDK

struct MatrixDownloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "download", abstract: "Download a file, and print where it is.",
        discussion: """
            Without FILE, the file is saved in the current folder under the name that its sender gave it, adapted if \
            that cannot be a file name here, and with a number if the name is taken. An interrupted download leaves \
            nothing behind.

            What was sent into an encrypted room can only be read with the message that carries it: give the room, and \
            the message's id instead of an address. A file that is not what the sender has encrypted is not kept.

            Examples:
              pusher-cli matrix download mxc://example.org/abc photo.jpg
              pusher-cli matrix download '$event' --room Builds
            """)

    @Argument(help: "The file's address, mxc://server/id; with --room, the id of the message that carries it.")
    var source: String

    @Argument(help: "Where to save it: a file, a folder, or - for standard output.", completion: .file())
    var file: String?

    @Option(
        help: "The room of the message: an id, an alias, or the name or part of the name of a room that you are in.",
        completion: RoomReference.completion)
    var room: String?

    @Flag(help: "Replace an existing file.")
    var force = false

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        if room != nil { return try EventID.validate(source) }
        guard MXContentURI(source) != nil else { throw ValidationError("A file's address is mxc://server/id.") }
    }

    private enum Target {
        case file(URL)
        case folder(URL)
        case standardOutput
    }

    func run() async throws {
        let account = try network.matrixAccount()
        let target = try target()
        guard let room else {
            let client = account.client
            return try await save(to: target) { place, onProgress in
                switch place {
                case .file(let url): try await client.downloadContent(source, to: url, onProgress: onProgress)
                case .folder(let url): try await client.downloadContent(source, intoFolder: url, onProgress: onProgress)
                }
            }
        }
        let roomID = try await RoomReference(room).roomID(for: account)
        let event = try await account.client.event(withId: source, inRoom: roomID)
        guard let read = try await account.read([event], in: roomID).first?.event, !read.isEncrypted else {
            throw CommandFailure(.badData, "the message cannot be read: its key is not here")
        }
        try await save(to: target) { place, onProgress in
            switch place {
            case .file(let url):
                try await account.client.downloadMedia(of: read, to: url, onProgress: onProgress)
            case .folder(let url):
                try await account.client.downloadMedia(of: read, intoFolder: url, onProgress: onProgress)
            }
        }
    }

    private enum Place: Sendable {
        case file(URL)
        case folder(URL)
    }

    private typealias Download =
        @Sendable (Place, _ onProgress: @escaping @Sendable (MXTransferProgress) -> Void) async throws -> MXDownload

    private func save(to target: Target, _ download: @escaping Download) async throws {
        switch target {
        case .file(let url):
            let done = try await transfer { try await download(.file(url), $0) }
            _ = StandardOutput.write(TerminalText(done.file.path))
        case .folder(let url):
            let done = try await transfer { try await download(.folder(url), $0) }
            _ = StandardOutput.write(TerminalText(done.file.path))
        case .standardOutput:
            // Write to a temporary file, so that a partial download is not taken for the whole.
            let file = try await TemporaryFile.holding { part in
                _ = try await transfer { try await download(.file(part), $0) }
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
        return try await download { [source] in line.show($0.completed, of: $0.total, source) }
    }
}
