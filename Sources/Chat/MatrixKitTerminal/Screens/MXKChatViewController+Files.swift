import Foundation
import MatrixKit
import TerminalUI

/// Files of messages, for other programs.
extension MXKChatViewController {
    /// `/open`: asks first, because another program will read an untrusted file.
    func openFile() {
        guard let onOpenFile else { return room.show("Files cannot be opened here: /download saves them.") }
        guard let attachment = room.targetAttachment() else { return room.show("There is no file to open.") }
        var words = ["From \(attachment.sender)"]
        let type = attachment.file.contentInfo?["mimetype"] as? String
        let claims = [type, attachment.file.claimedSizes].compactMap { $0 }
        if !claims.isEmpty { words.append("Said to be \(claims.joined(separator: ", "))") }
        let name = attachment.file.fileName
        confirm("Open \(name)?", words, action: "Open") { [weak self] in
            self?.room.show("Opening \(name)…")
            self?.perform("\(name) was not opened") {
                let path = try await attachment.file.decryptToTempFile()
                try await onOpenFile(URL(filePath: path))
            }
        }
    }
}
