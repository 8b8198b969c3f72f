import Foundation

/// What a path on this side is; links are not followed.
enum LocalNode {
    case file, folder, link, other

    /// Nil if there is nothing.
    init?(_ url: URL) {
        var status = stat()
        guard lstat(url.path, &status) == 0 else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: self = .file
        case S_IFDIR: self = .folder
        case S_IFLNK: self = .link
        case _: self = .other
        }
    }

    /// What a link leads to; nil if that is nothing.
    static func followed(_ url: URL) -> LocalNode? {
        var status = stat()
        guard stat(url.path, &status) == 0 else { return nil }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file
        case S_IFDIR: return .folder
        case _: return .other
        }
    }
}

/// Tells a file or folder on this side from all others; links are followed.
struct LocalIdentity: Hashable {
    private let device: UInt
    private let number: UInt

    /// Nil if there is nothing.
    init?(_ url: URL) {
        var status = stat()
        guard stat(url.path, &status) == 0 else { return nil }
        (device, number) = (UInt(status.st_dev), UInt(status.st_ino))
    }
}
