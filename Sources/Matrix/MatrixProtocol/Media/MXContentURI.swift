/// The address of a media file: `mxc://server/id`. Its parts are safe to use in paths and file names.
public struct MXContentURI: Sendable, Hashable, CustomStringConvertible {
    /// The server that stores the media.
    public let server: String
    /// The media's id on that server.
    public let mediaId: String

    /// - Returns: `nil` if it is not such an address, or if a part could lead elsewhere (`/`, `..`, `%`).
    public init?(_ text: String) {
        guard text.utf8.count <= 1024, text.hasPrefix("mxc://") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isServer(parts[0]), Self.isMediaId(parts[1]) else { return nil }
        (server, mediaId) = (String(parts[0]), String(parts[1]))
    }

    /// The whole address.
    public var description: String { "mxc://\(server)/\(mediaId)" }

    private static func isServer(_ text: Substring) -> Bool {
        !text.isEmpty && !text.contains("..") && text != "."
            && text.utf8.allSatisfy { isWord($0) || [0x2E, 0x3A, 0x5B, 0x5D].contains($0) }  // . : [ ]
    }

    private static func isMediaId(_ text: Substring) -> Bool {
        !text.isEmpty && !text.contains("..") && text != "."
            && text.utf8.allSatisfy { isWord($0) || [0x2E, 0x3D, 0x7E].contains($0) }  // . = ~
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
