package import ArgumentParser
import Foundation
import PusherProtocol
package import PusherSwift

/// The server's address, for every command that contacts one.
package struct AddressOptions: ParsableArguments {
    @Option(help: "A cluster of Pusher Channels, such as eu. Default: $PUSHER_CLUSTER.")
    package var cluster: String?

    @Option(
        help: ArgumentHelp(
            "The server: a host, HOST:PORT or a URL. Overrides --cluster. Default: $PUSHER_HOST.", valueName: "host"))
    package var host: String?

    @Option(help: "The server's port. Default: $PUSHER_PORT, else 443 with TLS and 80 without.")
    package var port: Int?

    @Option(help: "A prefix before /app and /apps, for servers behind a reverse proxy.")
    package var path: String?

    @Flag(inversion: .prefixedNo, help: "Use TLS. Default: $PUSHER_TLS, else yes.")
    package var tls: Bool?

    package init() {}

    package func validate() throws {
        guard port.map({ (1...65535).contains($0) }) ?? true else {
            throw ValidationError("--port must be 1 to 65535.")
        }
        if let cluster, !ClusterName.isOne(cluster) {
            throw ValidationError("--cluster \(ClusterName.mistake(cluster)).")
        }
        if let path, !HostAddress.isPath(path) {
            throw ValidationError("--path must be a path as URLs have it, such as /realtime, not “\(path)”.")
        }
        _ = try address()
    }

    private func address() throws -> HostAddress? {
        guard let host else { return nil }
        do throws(HostAddress.Mistake) {
            let address = try HostAddress(host)
            if let port, let other = address.port, port != other {
                throw HostAddress.Mistake(words: "says port \(other), --port says \(port)")
            }
            if let tls, let other = address.usesTLS, tls != other {
                throw HostAddress.Mistake(
                    words: "is a URL \(other ? "with" : "without") TLS, --\(tls ? "" : "no-")tls says otherwise")
            }
            if let path, let other = address.path, path != other {
                throw HostAddress.Mistake(words: "says path \(other), --path says \(path)")
            }
            return address
        } catch {
            throw ValidationError("--host \(error.words).")
        }
    }

    /// Returns the settings from these options and the network options.
    package func settings(_ network: NetworkArguments) throws -> Settings {
        var settings = Settings()
        (settings.cluster, settings.port, settings.path, settings.tls) = (cluster, port, path, tls)
        if let address = try address() { settings.take(address) }
        settings.take(network)
        return settings
    }
}

extension Settings {
    package var pusherHost: PusherHost {
        if let host { return .host(host) }
        return cluster.map { .cluster($0) } ?? .defaultHost
    }

    package var usesTLS: Bool { tls ?? true }
}
