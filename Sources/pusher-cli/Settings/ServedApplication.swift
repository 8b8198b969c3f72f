import Foundation
import PusherMockServer
import Transport

/// What a `pusher-cli serve` of this user's serves while it runs, so that other commands need no option to reach it.
///
/// Each has a file of its own, which is valid as long as `serve` holds its lock, however that ends.
final class ServedApplication {
    private let descriptor: Int32
    private let file: URL

    /// In the folder of the configuration, which is the user's alone. That of the session is not known everywhere where
    /// commands run.
    private static var folder: URL { PrivateFile("served").file }

    /// Nil if the file cannot be written: then nothing is lost but comfort.
    init?(_ settings: Settings) {
        let (folder, name) = (Self.folder, UUID().uuidString)
        file = folder.appending(path: name + ".json")
        // Nobody looks at it before it is written and locked.
        let draft = folder.appending(path: "." + name).path
        try? FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        descriptor = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, let data = try? JSONEncoder().encode(settings),
            data.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }) == data.count,
            rename(draft, file.path) == 0
        else {
            unlink(draft)
            close(descriptor)
            return nil
        }
    }

    /// It is not served any more.
    func end() {
        unlink(file.path)
        close(descriptor)
    }

    /// What has been served for the shortest time; nil if nothing is served now.
    static func current() -> Settings? {
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let records = (files ?? []).filter { $0.pathExtension == "json" }.compactMap { record(in: $0.path) }
        guard var settings = records.max(by: { $0.start < $1.start })?.settings else { return nil }
        settings.origin = .serve
        return settings
    }

    private static func record(in path: String) -> (settings: Settings, start: Double)? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0
        else { return nil }
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else {
            unlink(path)  // a lock that can be had is nobody's
            return nil
        }
        guard errno == EWOULDBLOCK, let data = try? handle.read(upToCount: 1 << 16),
            let settings = try? JSONDecoder().decode(Settings.self, from: data)
        else { return nil }
        return (settings, Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9)
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

    /// What programs of other people's need to use a served application, by its name in JSON and its label on a line.
    ///
    /// Secrets are among it only if they are the default ones, which everybody knows.
    var publicAccess: [(name: String, label: String, value: String)] {
        let secret = secret.flatMap { $0 == PusherMockServer.App.defaultSecret ? $0 : nil }
        let masterKey = encryptionMasterKey.flatMap {
            $0 == PusherMockServer.App.defaultEncryptionMasterKey ? $0 : nil
        }
        let credentials = [key, secret].compactMap { $0?.percentEncoded }.joined(separator: ":")
        let url =
            "\(usesTLS ? "https" : "http")://\(credentials)@\(ServerAddress.name(host ?? "", port))"
            + "/apps/\((appID ?? "").percentEncoded)"
        return [
            ("app_id", "app id: ", appID), ("key", "key: ", key), ("secret", "secret: ", secret),
            ("encryption_master_key", "encryption master key: ", masterKey), ("url", "PUSHER_URL=", url),
        ].compactMap { name, label, value in value.map { (name, label, $0) } }
    }
}
