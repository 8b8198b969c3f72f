import Basics
import Foundation
package import PusherMockServer
import PusherProtocol
import Transport

/// The application of a running `pusher-cli serve` of this user, so that other commands can reach it without options.
///
/// Each one has its own file, which is valid while `serve` holds the file's lock, however it ends.
package final class ServedApplication {
    /// Below the configuration folder, which is private. The session's folder is not known everywhere that commands
    /// run.
    private static let folder = "served"

    private let file: UserFile
    private let lock: FileLock

    /// Returns `nil` if the file cannot be written: only convenience is lost.
    package init?(_ settings: Settings) {
        file = UserFile("\(Self.folder)/\(UUID().uuidString).json")
        guard let data = try? JSONEncoder().encode(settings), let lock = try? file.write(data) else { return nil }
        self.lock = lock
    }

    /// Withdraws the application.
    package func end() {
        try? file.remove()
        lock.release()
    }

    /// Returns the most recently started application; `nil` if there is none.
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
            unlink(path)  // the lock is free: the server is gone
            return nil
        }
        guard errno == EWOULDBLOCK, let data = try? handle.read(upToCount: 1 << 16),
            let settings = try? JSONDecoder().decode(Settings.self, from: data)
        else { return nil }
        return (settings, Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9)
    }
}

extension Settings {
    /// Creates the settings that commands on this machine need to reach a server.
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

    /// The settings that other programs need to use a served application, with their names in JSON and their labels in
    /// text.
    ///
    /// Secrets are included only if they are the well-known defaults.
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
