import Basics
import Foundation
package import PusherMockServer
import PusherProtocol
import Transport

/// What a `pusher-cli serve` of this user's serves while it runs, so that other commands need no option to reach it.
///
/// Each has a file of its own, which is valid as long as `serve` holds its lock, however that ends.
package final class ServedApplication {
    /// In the folder of the configuration, which is the user's alone. That of the session is not known everywhere where
    /// commands run.
    private static let folder = "served"

    private let file: UserFile
    private let lock: FileLock

    /// Nil if the file cannot be written: then nothing is lost but comfort.
    package init?(_ settings: Settings) {
        file = UserFile("\(Self.folder)/\(UUID().uuidString).json")
        guard let data = try? JSONEncoder().encode(settings), let lock = try? file.write(data) else { return nil }
        self.lock = lock
    }

    /// It is not served any more.
    package func end() {
        try? file.remove()
        lock.release()
    }

    /// What has been served for the shortest time; nil if nothing is served now.
    package static func current() -> Settings? {
        let folder = UserFile.Base.configuration.folder.appending(path: folder)
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
    package init(of server: PusherMockServer) {
        self.init()
        let app = server.configuration.apps.first
        host = ["0.0.0.0": "127.0.0.1", "::": "::1"][server.host] ?? server.host
        port = server.port
        tls = server.configuration.tls != nil
        caFile = server.configuration.tls?.certificatePath
        (appID, key, secret) = (app?.id, app?.key, app?.secret)
        encryptionMasterKey = app?.encryptionMasterKey
    }

    /// The settings that other programs need to use a served application, by its name in JSON and its label on a line.
    ///
    /// Secrets are among it only if they are the default ones, which everybody knows.
    package var publicAccess: [(name: String, label: String, value: String)] {
        let secret = secret.flatMap { $0 == PusherMockServer.App.defaultSecret ? $0 : nil }
        let masterKey = encryptionMasterKey.flatMap {
            $0 == PusherMockServer.App.defaultEncryptionMasterKey ? $0 : nil
        }
        let credentials = [key, secret].compactMap { $0?.percentEncoded }.joined(separator: ":")
        let url =
            "\(usesTLS ? "https" : "http")://\(credentials)@\(HostAddress.name(host ?? "", port))"
            + "/apps/\((appID ?? "").percentEncoded)"
        return [
            ("app_id", "app id: ", appID), ("key", "key: ", key), ("secret", "secret: ", secret),
            ("encryption_master_key", "encryption master key: ", masterKey), ("url", "PUSHER_URL=", url),
        ].compactMap { name, label, value in value.map { (name, label, $0) } }
    }
}
