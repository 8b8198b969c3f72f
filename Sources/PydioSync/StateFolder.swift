import Foundation
import PydioProtocol
import PydioSDK

/// The folder in the local folder that the state is kept in, held for one process at a time. The system lets it go with
/// the process, however that ends.
final class StateFolder: Sendable {
    let path: String
    private let lock: Int32

    /// Where unfinished downloads are.
    var parts: String { path + "/parts" }
    var database: String { path + "/state.sqlite" }

    static func path(in localFolder: String) -> String { localFolder + "/" + SyncNames.stateFolder }

    /// Makes it if it is missing, for its owner alone.
    init(in localFolder: String) throws(SyncStateFailure) {
        path = Self.path(in: localFolder)
        for folder in [path, path + "/parts"] {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw Self.failure("make", folder) }
            var status = stat()
            guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw SyncStateFailure("\(folder) is not a folder: remove it; nothing was synced")
            }
        }
        let file = path + "/lock"
        lock = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw Self.failure("open", file) }
        while flock(lock, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            let failure = Self.failure("lock", file)
            guard errno == EWOULDBLOCK else { throw failure }
            throw SyncStateFailure(
                "\(localFolder) is being synced by \(Self.holder(lock)): wait for it or stop it; nothing was synced")
        }
        let text = "\(getpid())\n"
        if ftruncate(lock, 0) == 0 { _ = text.withCString { pwrite(lock, $0, strlen($0), 0) } }
    }

    deinit {
        if lock >= 0 { close(lock) }
    }

    /// Lets another sync have it. Closing alone comes late while a task that has ended still holds this, or a child of
    /// this process the descriptor.
    func release() { flock(lock, LOCK_UN) }

    private static func failure(_ what: String, _ file: String) -> SyncStateFailure {
        SyncStateFailure("could not \(what) \(file): \(String(cString: strerror(errno))); nothing was synced")
    }

    private static func holder(_ lock: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 20)
        let count = pread(lock, &bytes, bytes.count, 0)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        guard let process = Int32(text.filter(\.isNumber)) else { return "another process" }
        return process == getpid() ? "this process already" : "process \(process)"
    }

    /// Removes what is left of downloads that nobody waits for any more.
    func removeParts() {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parts)) ?? [] { unlink("\(parts)/\(name)") }
    }
}
