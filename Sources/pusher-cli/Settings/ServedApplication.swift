import Foundation
import PusherMockServer

/// What a `pusher-cli serve` of this user's serves while it runs, so that other commands need no option to reach it.
///
/// The file is valid as long as `serve` holds its lock, however that ends.
final class ServedApplication {
    private let descriptor: Int32

    /// The folder of the user's session, if there is one. A relative path there is to be ignored (XDG Base Directory
    /// Specification).
    private static let sessionFolder = Environment["XDG_RUNTIME_DIR"].flatMap {
        $0.hasPrefix("/") ? URL(filePath: $0) : nil
    }

    /// In the session's folder, else in that of the configuration; both are the user's alone.
    private static let path =
        (sessionFolder?.appending(path: "pusher-cli.served.json") ?? PrivateFile("served.json").file).path

    /// Nil if another `serve` is known already, or the file cannot be written: then nothing is lost but comfort.
    init?(_ settings: Settings) {
        if Self.sessionFolder == nil { try? PrivateFile("served.json").makeFolder() }
        descriptor = open(Self.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return nil }
        guard Self.isOurs(descriptor), flock(descriptor, LOCK_EX | LOCK_NB) == 0, ftruncate(descriptor, 0) == 0,
            let data = try? JSONEncoder().encode(settings),
            data.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }) == data.count
        else {
            close(descriptor)
            return nil
        }
    }

    /// It is not served any more.
    func end() {
        unlink(Self.path)
        close(descriptor)
    }

    /// What is served now; nil if nothing is.
    static func current() -> Settings? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // A lock that can be had is nobody's.
        guard isOurs(descriptor), flock(descriptor, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK,
            let data = try? handle.read(upToCount: 1 << 16)
        else { return nil }
        return try? JSONDecoder().decode(Settings.self, from: data)
    }

    private static func isOurs(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
            && status.st_mode & 0o077 == 0
    }
}

extension Settings {
    /// What commands on this machine need to reach a server.
    init(of server: PusherMockServer) {
        self.init()
        let app = server.configuration.apps.first
        host = ["0.0.0.0": "127.0.0.1", "::": "::1"][server.host] ?? server.host
        port = server.port
        tls = server.configuration.tls != nil
        caFile = server.configuration.tls?.certificatePath
        (appID, key, secret) = (app?.id, app?.key, app?.secret)
        encryptionMasterKey = app?.encryptionMasterKey
    }
}
