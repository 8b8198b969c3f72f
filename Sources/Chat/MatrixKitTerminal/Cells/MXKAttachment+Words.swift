import MatrixKit

extension MXKAttachment {
    /// The pixel and byte sizes claimed by the sender, unchecked; `nil` if they are implausible.
    var claimedSizes: String? {
        let info = contentInfo ?? [:]
        var words: [String] = []
        if let width = info["w"] as? Int, let height = info["h"] as? Int, width > 0, height > 0 {
            words.append("\(width)×\(height)")
        }
        if let size = info["size"] as? Int, size >= 0 { words.append(Self.words(ofBytes: size)) }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    /// Returns a size such as `81 KB`.
    static func words(ofBytes bytes: Int) -> String {
        switch bytes {
        case ..<1000: "\(bytes) B"
        case ..<1_000_000: "\(bytes / 1000) KB"
        case ..<1_000_000_000: "\(bytes / 100_000 / 10).\(bytes / 100_000 % 10) MB"
        default: "\(bytes / 100_000_000 / 10).\(bytes / 100_000_000 % 10) GB"
        }
    }
}
