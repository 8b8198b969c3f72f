import Foundation

/// A file path as terminals insert it on drag and drop: plain, quoted, with backslashes, or as a `file:` URL.
struct DroppedFile {
    let path: String

    /// Returns `nil` if the text is not the path of an existing file.
    init?(_ text: String) {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty, text.utf8.count <= 4096, !text.contains(where: \.isNewline) else { return nil }
        let path: String
        if text.hasPrefix("file://") {
            guard let url = URL(string: text), url.isFileURL else { return nil }
            path = url.path(percentEncoded: false)
        } else if let quote = text.first, quote == "'" || quote == "\"", text.count > 2, text.last == quote {
            path = String(text.dropFirst().dropLast())
        } else {
            path = Self.withoutBackslashes(text)
        }
        guard path.hasPrefix("/") || path.hasPrefix("~/") else { return nil }
        let whole = NSString(string: path).expandingTildeInPath
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: whole, isDirectory: &isFolder), !isFolder.boolValue else {
            return nil
        }
        self.path = whole
    }

    /// Splits the text into a file and its caption: the longest prefix that is a file is the path. Names can contain
    /// spaces.
    static func pathAndCaption(_ text: String) -> (path: String, caption: String?) {
        if let whole = DroppedFile(text) { return (whole.path, nil) }
        var end = text.endIndex
        while let space = text[..<end].lastIndex(of: " ") {
            end = space
            let start = NSString(string: String(text[..<end])).expandingTildeInPath
            guard FileManager.default.fileExists(atPath: start) else { continue }
            let caption = text[end...].trimmingCharacters(in: .whitespaces)
            return (start, caption.isEmpty ? nil : caption)
        }
        return (NSString(string: text).expandingTildeInPath, nil)
    }

    /// Returns the reason why a file cannot be sent; `nil` if it can.
    static func problem(ofSending path: String) -> String? {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
            FileManager.default.isReadableFile(atPath: path)
        else { return "There is no file \(path) that can be read." }
        return isFolder.boolValue ? "Only files are sent, and this is a folder: \(path)" : nil
    }

    private static func withoutBackslashes(_ text: String) -> String {
        var (result, isEscaped) = ("", false)
        for character in text {
            if character == "\\", !isEscaped {
                isEscaped = true
            } else {
                result.append(character)
                isEscaped = false
            }
        }
        return result
    }
}
