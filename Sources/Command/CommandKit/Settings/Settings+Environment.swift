import Foundation
import PusherProtocol

/// The environment variables that replace options. Empty ones count as absent.
package enum Environment {
    package static subscript(name: String) -> String? {
        // Reads one variable, because ProcessInfo creates a dictionary of all each time.
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}

extension Settings {
    /// Returns the settings from individual variables.
    package static func ofEnvironment() throws(CommandFailure) -> Settings {
        var settings = Settings()
        settings.origin = .variables
        settings.key = Environment["PUSHER_KEY"]
        settings.appID = Environment["PUSHER_APP_ID"]
        settings.secret = Environment["PUSHER_SECRET"]
        let masterKey = SecretOption.encryptionMasterKey.variable
        settings.encryptionMasterKey = Environment[masterKey]
        if let mistake = MasterKeyOption.mistake(settings.encryptionMasterKey, in: masterKey) {
            throw CommandFailure(.wrongUse, mistake)
        }
        if let text = Environment["PUSHER_PORT"] {
            guard let port = Int(text), (1...65535).contains(port) else {
                throw CommandFailure(.wrongUse, "PUSHER_PORT must be from 1 to 65535, not “\(text)”")
            }
            settings.port = port
        }
        if let text = Environment["PUSHER_TLS"] {
            switch text.lowercased() {
            case "1", "true", "yes", "on": settings.tls = true
            case "0", "false", "no", "off": settings.tls = false
            default: throw CommandFailure(.wrongUse, "PUSHER_TLS must be 1 or 0, not “\(text)”")
            }
        }
        if let cluster = Environment["PUSHER_CLUSTER"] {
            guard ClusterName.isOne(cluster) else {
                throw CommandFailure(.wrongUse, "PUSHER_CLUSTER \(ClusterName.mistake(cluster))")
            }
            settings.cluster = cluster
        }
        if let host = Environment["PUSHER_HOST"] {
            do throws(HostAddress.Mistake) {
                settings.take(try HostAddress(host))
            } catch {
                throw CommandFailure(.wrongUse, "PUSHER_HOST \(error.words)")
            }
        }
        return settings
    }

    /// Returns the settings from `PUSHER_URL`, such as `http://key:secret@host:6001/apps/1`; `nil` if it is not set.
    package static func ofURLVariable() throws(CommandFailure) -> Settings? {
        guard let text = Environment["PUSHER_URL"] else { return nil }
        // The error does not repeat the value, because it contains the secret.
        let failure = CommandFailure(.wrongUse, "PUSHER_URL is not like https://key:secret@host:port/apps/id")
        // Foundation accepts and changes spaces and invalid escapes.
        guard text.wholeMatch(of: /(?:[^%\s]|%[0-9A-Fa-f]{2})+/) != nil, var url = URLComponents(string: text),
            let scheme = url.scheme?.lowercased(),
            ["http", "https"].contains(scheme), url.host?.isEmpty == false, url.query == nil, url.fragment == nil
        else { throw failure }
        var settings = Settings()
        settings.origin = .url
        (settings.key, settings.secret) = (url.user, url.password)
        guard settings.key?.isEmpty != true, settings.secret?.isEmpty != true else { throw failure }
        (url.user, url.password) = (nil, nil)
        var segments = url.path.split(separator: "/").map(String.init)
        guard segments.last != "apps" else { throw failure }
        if segments.count >= 2, segments[segments.count - 2] == "apps" {
            settings.appID = segments.removeLast()
            segments.removeLast()
        }
        url.path = segments.isEmpty ? "" : "/" + segments.joined(separator: "/")
        guard let address = url.string, let address = try? HostAddress(address) else { throw failure }
        settings.take(address)
        return settings
    }
}

/// The name of a Pusher Channels cluster.
package enum ClusterName {
    /// Returns whether the name is valid: it becomes part of a host name.
    package static func isOne(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?/) != nil
    }

    package static func mistake(_ text: String) -> String {
        "is “\(text)”: it takes a cluster's name, such as eu or mt1"
    }
}
