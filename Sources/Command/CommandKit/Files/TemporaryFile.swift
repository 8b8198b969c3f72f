package import Foundation

/// An unnamed file that is gone when the command ends, however that happens.
package struct TemporaryFile {
    private let handle: FileHandle

    /// - Parameter write: Creates a file at the given path, in a private folder.
    package static func holding(_ write: (URL) async throws -> Void) async throws -> TemporaryFile {
        try await withPath { file in
            try await write(file)
            do {
                return TemporaryFile(handle: try FileHandle(forReadingFrom: file))
            } catch {
                throw CommandFailure(.unavailable, "the temporary file \(file.path) cannot be read")
            }
        }
    }

    /// Provides a path in a private folder for a file that is deleted afterwards.
    package static func withPath<Value>(_ body: (URL) async throws -> Value) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pusher-cli-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure(.unavailable, "no temporary folder can be created at \(folder.path)")
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder.appending(path: "part"))
    }

    /// Writes the whole file, or as much as the reader accepts.
    ///
    /// - Returns: Whether everything was written.
    @discardableResult
    package func copyToStandardOutput() throws(CommandFailure) -> Bool {
        signal(SIGPIPE, SIG_IGN)
        do {
            while let piece = try handle.read(upToCount: 1 << 16), !piece.isEmpty {
                guard StandardOutput.write(piece) else { return false }
            }
            return true
        } catch {
            throw CommandFailure(.unavailable, "the temporary file cannot be read to its end")
        }
    }
}
