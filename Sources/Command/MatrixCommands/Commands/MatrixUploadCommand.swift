import ArgumentParser
import CommandKit
import Foundation
import MatrixProtocol
import MatrixSDK

struct MatrixUploadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload", abstract: "Upload a file, and print its mxc: address; with --room, also send it.",
        discussion: """
            For an encrypted room the file is encrypted before it is uploaded, and the message's id is printed: \
            pusher-cli matrix download --room takes it.

            Example:
              pusher-cli matrix upload photo.jpg --room '#lobby:example.org' --caption hello
            """)

    @Argument(help: "The file.", completion: .file())
    var file: String

    @Option(
        help: "Send it into this room: an id, an alias, or the name or part of the name of a room that you are in.",
        completion: RoomReference.completion)
    var room: String?

    @Option(help: "The caption, in Markdown.")
    var caption: String?

    @Option(help: ArgumentHelp("The file's type, such as image/png. Default: from its name.", valueName: "type"))
    var type: String?

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        guard caption == nil || room != nil else { throw ValidationError("--caption needs --room.") }
    }

    func run() async throws {
        let account = try network.matrixAccount()
        let file = URL(filePath: file)
        let media = type.map { MediaType(mime: $0) } ?? MediaType(of: file)
        var roomID: String?
        if let room {
            let id = try await RoomReference(room).roomID(for: account)
            guard try await !account.isEncrypted(id) else {
                return try await sendEncrypted(file, media, to: id, as: account)
            }
            roomID = id
        }
        let name = file.lastPathComponent
        let line = TransferLine()
        defer { line.erase() }
        let uri = try await account.client.uploadFile(file, mimeType: media.mime) { progress in
            line.show(progress.completed, of: progress.total, name)
        }
        line.erase()
        _ = StandardOutput.write(TerminalText(uri))  // before anything else can fail: the file is uploaded
        if let roomID {
            let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
            let content = MessageContent.media(
                media.messageType, url: uri, filename: name, caption: caption,
                info: .init(mimetype: media.mime, size: size))
            _ = try await account.client.sendMessage(toRoom: roomID, content: content)
        }
    }

    private func sendEncrypted(
        _ file: URL, _ media: MediaType, to roomID: String, as account: MatrixAccount
    ) async throws {
        let line = TransferLine()
        defer { line.erase() }
        let id = try await account.withRoomKeys { keys in
            try await keys.upload(file, mimeType: media.mime, caption: caption, to: roomID) { progress in
                line.show(progress.completed, of: progress.total, file.lastPathComponent)
            }
        }
        line.erase()
        _ = StandardOutput.write(TerminalText(id))
    }
}
