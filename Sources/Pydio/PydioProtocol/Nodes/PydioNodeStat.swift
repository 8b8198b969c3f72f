public import Foundation

/// A node's properties in the server's file system.
public struct PydioNodeStat: Sendable, Hashable {
    /// The size in bytes.
    public let size: Int64
    /// The time at which the content was last changed.
    public let mTime: Date?
    /// The kind and permissions as in Unix; `nil` if the server doesn't report them.
    public let mode: Int?
    /// A digest of the content, if requested and supported by the server.
    public let contentHash: String?

    /// Creates an instance with the given properties.
    public init(size: Int64, mTime: Date? = nil, mode: Int? = nil, contentHash: String? = nil) {
        self.size = size
        self.mTime = mTime
        self.mode = mode
        self.contentHash = contentHash
    }

    /// Whether it is a folder.
    public var isFolder: Bool { mode.map { $0 & 0o170000 == 0o040000 } ?? false }

    /// - Returns: `nil` without a size or a time.
    init?(json: [String: Any]) {
        let size = JSONNumber.integer(json["size"])
        let time = JSONNumber.integer(json["mtime"])
        guard size != nil || time != nil else { return nil }
        self.init(
            size: max(size ?? 0, 0), mTime: time.flatMap { NodeResponse.time(String($0)) },
            mode: JSONNumber.integer(json["mode"]).map { Int($0) }, contentHash: json["hash"] as? String)
    }
}

/// Reads numbers sent as numbers or as text: databases differ.
enum JSONNumber {
    /// Reads a truth value sent as a number or as text.
    static func flag(_ value: Any?) -> Bool? {
        switch value {
        case let text as String: return text == "true" || text == "1"
        case let number as NSNumber: return number.boolValue
        default: return nil
        }
    }

    static func integer(_ value: Any?) -> Int64? {
        switch value {
        case let text as String: return Int64(text)
        case let number as NSNumber:
            return Int64(exactly: number) ?? Int64(exactly: number.doubleValue.rounded(.down))
        default: return nil
        }
    }
}
