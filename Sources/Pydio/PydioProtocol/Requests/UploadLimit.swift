/// A server's limit on the size of an upload.
package enum UploadLimit {
    /// Returns the maximum bytes of one file (`UPLOAD_MAX_SIZE`), from the part of the registry about plugins; `nil` if
    /// it is missing.
    package static func bytes(in registry: XMLNode) -> Int64? {
        for child in registry.children {
            if child.name == "property", child["name"] == "UPLOAD_MAX_SIZE" {
                // A JSON value: a number, possibly in quotation marks.
                let text = child.text.filter { $0 != "\"" && !$0.isWhitespace }
                if let bytes = Int64(text), bytes > 0 { return bytes }
            } else if let bytes = bytes(in: child) {
                return bytes
            }
        }
        return nil
    }
}
