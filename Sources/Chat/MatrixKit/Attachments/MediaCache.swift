import Basics
import Foundation
import Glibc
import MatrixProtocol
import MatrixSDK

/// A size-limited cache of downloaded files. The least recently used files are deleted first.
///
/// Decrypted files are kept apart, in a folder private to the process and deleted with it.
@MainActor
final class MediaCache {
    static let shared = MediaCache(folder: cacheFolder.appending(path: "matrixkit").appending(path: "media"))

    private struct Entry {
        var size: Int
        /// A counter that increases with each use.
        var use: UInt64
    }

    /// The maximum size in bytes. Lowering it deletes files at the next download.
    var maximumSize = 256 << 20
    private let folder: URL
    private let privateFolder = PrivateTemporaryFolder()
    private var entries: [URL: Entry]?
    private var uses: UInt64 = 0
    private var downloads: [URL: SharedDownload] = [:]

    /// - Parameter folder: Created on the first write.
    init(folder: URL) { self.folder = folder }

    private static var cacheFolder: URL {
        let environment = ProcessInfo.processInfo.environment
        if let folder = environment["XDG_CACHE_HOME"], folder.hasPrefix("/") { return URL(filePath: folder) }
        return FileManager.default.homeDirectoryForCurrentUser.appending(path: ".cache")
    }

    // MARK: Places

    /// Returns the location of a file in the cache, whether or not it exists yet.
    ///
    /// - Parameters:
    ///   - what: Everything that identifies the file: its address, size and keys.
    ///   - isSecret: Whether the file was encrypted.
    func place(of what: [String], isSecret: Bool) -> URL? {
        let digest = Digest.sha256(Array(what.joined(separator: "\n").utf8))
        let name = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return (isSecret ? privateFolder.url : folder)?.appending(path: name)
    }

    /// Returns whether the file exists.
    func has(_ place: URL) -> Bool { access(place.path, F_OK) == 0 }

    // MARK: Downloading

    /// Returns the file at a location. Concurrent callers share one download, which is cancelled when no caller is
    /// left.
    ///
    /// - Parameter download: Writes the file to the given location, up to the given size.
    func file(
        _ place: URL, onProgress: (@MainActor (MXTransferProgress) -> Void)? = nil,
        download:
            @escaping @Sendable (
                _ file: URL, _ maximumSize: Int, _ onProgress: @escaping @Sendable (MXTransferProgress) -> Void
            ) async throws -> Void
    ) async throws {
        if has(place), downloads[place] == nil { return used(place) }
        if downloads[place] == nil {
            try PrivateFolder.make(place.deletingLastPathComponent())
            let maximumSize = maximumSize
            downloads[place] = SharedDownload { onProgress in try await download(place, maximumSize, onProgress) }
        }
        guard let running = downloads[place] else { return }
        running.whenOver = { [weak self, weak running] in
            guard let self, self.downloads[place] === running else { return }
            self.downloads[place] = nil
            self.used(place)
            self.shrink(keeping: place)
        }
        try await running.wait(onProgress)
    }

    /// The number of pending downloads.
    var downloadCount: Int { downloads.count }

    // MARK: Size

    private func used(_ place: URL) {
        _ = size
        var status = stat()
        guard stat(place.path, &status) == 0 else {
            entries?[place] = nil
            return
        }
        uses += 1
        entries?[place] = Entry(size: Int(status.st_size), use: uses)
        if !privateFolder.contains(place) { utimensat(AT_FDCWD, place.path, nil, 0) }
    }

    /// The total size of all files, in bytes.
    var size: Int {
        if entries == nil { entries = readEntries() }
        return entries?.values.reduce(0) { $0 + $1.size } ?? 0
    }

    /// Returns the files left by an earlier process, least recently used first.
    private func readEntries() -> [URL: Entry] {
        let keys: Set<URLResourceKey> = [.fileSizeKey, .contentModificationDateKey]
        let files =
            (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: Array(keys))) ?? []
        let known = files.compactMap { file -> (URL, Int, Date)? in
            guard let values = try? file.resourceValues(forKeys: keys) else { return nil }
            return (
                folder.appending(path: file.lastPathComponent), values.fileSize ?? 0,
                values.contentModificationDate ?? .distantPast
            )
        }
        var entries: [URL: Entry] = [:]
        for (file, size, _) in known.sorted(by: { $0.2 < $1.2 }) {
            uses += 1
            entries[file] = Entry(size: size, use: uses)
        }
        return entries
    }

    private func shrink(keeping place: URL) {
        var size = size
        let old = (entries ?? [:]).filter { $0.key != place && downloads[$0.key] == nil }.sorted {
            $0.value.use < $1.value.use
        }
        for (file, entry) in old where size > maximumSize {
            unlink(file.path)
            entries?[file] = nil
            size -= entry.size
        }
    }

    /// Deletes everything except pending downloads.
    func clear() {
        _ = size
        for file in entries?.keys.filter({ downloads[$0] == nil }) ?? [] { unlink(file.path) }
        entries = nil
    }

    /// Copies a file for another program, with a readable name. The copy is deleted with the process.
    func copyForOthers(_ file: URL, name: String) async throws -> URL {
        guard let folder = privateFolder.url?.appending(path: UUID().uuidString) else {
            throw MatrixError(
                .file, "no folder for decrypted files can be made in \(FileManager.default.temporaryDirectory.path)")
        }
        try PrivateFolder.make(folder)
        let copy = folder.appending(path: name)
        try await Self.copy(file, to: copy)
        return copy
    }

    /// Only the owner can read the copy.
    @concurrent
    static func copy(_ file: URL, to copy: URL) async throws {
        let source = try FileHandle(forReadingFrom: file)
        defer { try? source.close() }
        let descriptor = open(copy.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw MatrixError(.file, "\(copy.path) cannot be made: \(String(cString: strerror(errno)))")
        }
        let target = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        defer { try? target.close() }
        do {
            while let piece = try source.read(upToCount: 1 << 20), !piece.isEmpty {
                try target.write(contentsOf: piece)
            }
        } catch {
            unlink(copy.path)
            throw error
        }
    }

    /// Reads a file away from the main actor.
    @concurrent
    static func data(_ file: URL) async throws -> Data { try Data(contentsOf: file) }
}
