import Foundation

/// The kind of a local path, without following links.
enum LocalNode {
    case file, folder, link, other

    /// Returns `nil` if nothing exists there.
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

    /// Returns the kind of a link's target; `nil` if it does not exist.
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

/// The identity of a local file or folder, following links.
struct LocalIdentity: Hashable {
    private let device: UInt
    private let number: UInt

    /// Returns `nil` if nothing exists there.
    init?(_ url: URL) {
        var status = stat()
        guard stat(url.path, &status) == 0 else { return nil }
        (device, number) = (UInt(status.st_dev), UInt(status.st_ino))
    }
}
