package import Basics
package import Foundation

/// A private file of this command in one of the user's folders.
package struct UserFile {
    /// The user's folders (XDG Base Directory Specification).
    package enum Base {
        /// `$XDG_CONFIG_HOME`, or else `~/.config`.
        case configuration
        /// `$XDG_STATE_HOME`, or else `~/.local/state`.
        case state
        /// `$XDG_DATA_HOME`, or else `~/.local/share`.
        case data

        /// The command's folder within it.
        package var folder: URL {
            // Foundation only consults the system's user database.
            let own = Environment["HOME"].map { URL(filePath: $0) } ?? FileManager.default.homeDirectoryForCurrentUser
            // Relative paths must be ignored (XDG Base Directory Specification).
            let chosen = Environment[variable].flatMap { $0.hasPrefix("/") ? URL(filePath: $0) : nil }
            return (chosen ?? own.appending(path: pathInHome)).appending(path: "pusher-cli")
        }

        fileprivate var variable: String {
            switch self {
            case .configuration: "XDG_CONFIG_HOME"
            case .state: "XDG_STATE_HOME"
            case .data: "XDG_DATA_HOME"
            }
        }

        fileprivate var pathInHome: String {
            switch self {
            case .configuration: ".config"
            case .state: ".local/state"
            case .data: ".local/share"
            }
        }
    }

    private static let maximumSize = 1 << 20
    private static let patience: Duration = .seconds(10)

    package let folder: URL
    package let file: URL
    private let cure: String?

    /// - Parameters:
    ///   - name: The path within the folder.
    ///   - cure: Advice if others may have read the file.
    package init(_ name: String, in base: Base = .configuration, ifReadByOthers cure: String? = nil) {
        self.cure = cure
        file = base.folder.appending(path: name)
        folder = file.deletingLastPathComponent()
    }

    package var exists: Bool { FileManager.default.fileExists(atPath: file.path) }

    /// Returns the content; `nil` if there is no file. Throws if others can read the file.
    package func read() throws(CommandFailure) -> Data? {
        do throws(PrivateFileError) {
            return try PrivateFile(file.path).read(upTo: Self.maximumSize)
        } catch {
            guard case .openToOthers = error.reason, let cure else { throw CommandFailure(error) }
            throw CommandFailure(.badData, "\(error); if others may have read it, \(cure)")
        }
    }

    /// - Returns: A lock on the new file.
    @discardableResult
    package func write(_ data: Data) throws(CommandFailure) -> FileLock {
        try makeFolder()
        return try Self.replace(file, with: data)
    }

    /// Writes a file that no other user can read at any time, replacing an existing one.
    @discardableResult
    package static func replace(_ file: URL, with data: Data) throws(CommandFailure) -> FileLock {
        do throws(PrivateFileError) {
            return try PrivateFile(file.path).replace(with: data)
        } catch {
            throw CommandFailure(error)
        }
    }

    package func remove() throws(CommandFailure) {
        do throws(PrivateFileError) {
            try PrivateFile(file.path).remove()
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Creates the folder and makes it private.
    package func makeFolder() throws(CommandFailure) {
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw failure("cannot be written: there is no folder \(folder.path)")
        }
        guard chmod(folder.path, 0o700) == 0 else {
            throw failure("is in a folder that is not yours: \(String(cString: strerror(errno)))")
        }
    }

    /// Runs `body` under a lock that excludes other processes from changing the folder's files this way.
    ///
    /// - Throws: If another process holds the lock for longer than 10 s.
    package func locking<Value>(_ body: () throws(CommandFailure) -> Value) throws(CommandFailure) -> Value {
        try makeFolder()
        let lock: FileLock
        do throws(FileLock.Failure) {
            lock = try FileLock(folder: folder.path, waiting: Self.patience)
        } catch {
            throw switch error {
            case .held:
                failure(
                    "is in use by \(error.owner) for longer than \(Self.patience.components.seconds) s: nothing was "
                        + "changed")
            case .unavailable(let reason): failure("cannot be locked: \(String(cString: strerror(reason)))")
            }
        }
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }

    private func failure(_ what: String) -> CommandFailure { CommandFailure(.unavailable, "\(file.path) \(what)") }
}

extension CommandFailure {
    fileprivate init(_ error: PrivateFileError) {
        switch error.reason {
        case .unreadable, .notAFile, .anotherUsers, .openToOthers, .tooLarge, .leadsElsewhere:
            self.init(.badData, error.description)
        case .unwritable, .undeletable: self.init(.unavailable, error.description)
        }
    }
}
