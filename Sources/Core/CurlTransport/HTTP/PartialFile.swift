import Basics
package import Foundation
import Glibc
package import Transport

/// A download in progress: a hidden file in its destination folder, so that it can be renamed at the end.
package struct PartialFile: Sendable {
    package enum Target: Sendable {
        case file(URL)
        case folder(URL)
    }

    package let path: String

    /// - Parameter name: A name without path components; nil for a new name.
    package init(beside target: Target, name: String? = nil) {
        let folder: URL
        switch target {
        case .file(let file): folder = file.deletingLastPathComponent()
        case .folder(let url): folder = url
        }
        path = folder.appending(path: ".\(name ?? UUID().uuidString).part").path
    }

    /// The number of bytes received.
    package var size: Int { (try? Self.size(of: URL(filePath: path))) ?? 0 }

    package func remove() {
        unlink(path)
    }

    /// Removes other parts in the same folder whose names start with `prefix`, unless another download is using them.
    package func removeOthers(named prefix: String) {
        let (own, folder) = (URL(filePath: path).lastPathComponent, URL(filePath: path).deletingLastPathComponent())
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names where name != own && name.hasPrefix("." + prefix) && name.hasSuffix(".part") {
            let other = PartialFile(path: folder.appending(path: name, directoryHint: .notDirectory).path)
            guard let lock = PartialFileLock(other) else { continue }
            other.remove()
            withExtendedLifetime(lock) {}
        }
    }

    private init(path: String) { self.path = path }

    /// Empties the file. Unlike removing it, this keeps a lock.
    package func empty() {
        let descriptor = open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC)
        if descriptor >= 0 { close(descriptor) }
    }

    /// - Parameter name: The name in a folder, without path components. A number is added if it is in use.
    /// - Parameter link: A function that creates hard links, for tests.
    /// - Returns: The file's new location.
    package func move(
        to target: Target, name: String, link: (String, String) -> Int32 = { Glibc.link($0, $1) }
    ) throws(TransportError) -> URL {
        switch target {
        case .file(let file):
            guard FilePlacement.setMode(of: path, replacing: file.path), rename(path, file.path) == 0 else {
                throw failure()
            }
            return file
        case .folder(let folder):
            guard FilePlacement.setMode(of: path, replacing: nil) else { throw failure() }
            for number in 0..<10_000 {
                let file = folder.appending(path: FileName.numbered(name, number))
                if FilePlacement.move(path, toNew: file.path, link: link) { return file }
                guard errno == EEXIST else { throw failure() }
            }
            throw TransportError(.file, "the folder has too many files of this name; the download was not kept")
        }
    }

    private func failure() -> TransportError {
        TransportError(.file, "the download cannot be put into its place: \(String(cString: strerror(errno)))")
    }

    package static func size(of file: URL) throws(TransportError) -> Int {
        var status = stat()
        guard stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw TransportError(.file, "\(file.path) is not a file that can be read")
        }
        return Int(status.st_size)
    }
}

/// Reserves a part with a predictable name, so that no other download of any process uses it. Creates the file if it is
/// missing. The lock is held while this object exists.
package final class PartialFileLock: Sendable {
    private let lock: FileLock

    /// Returns nil if another download holds the lock, or if this is not a file.
    package init?(_ part: PartialFile) {
        // The previous owner may have renamed or removed the file meanwhile.
        guard let lock = try? FileLock(file: part.path), lock.isFile(at: part.path) else { return nil }
        self.lock = lock
    }
}
