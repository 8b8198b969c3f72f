import CommandKit
import Foundation

/// A context without its secrets, as a line.
struct ContextRecord: ListRecord {
    let name: String
    let context: Settings
    let isCurrent: Bool

    var json: String {
        var line = JSONLine(type: "context")
        line.add("name", name)
        line.add("current", json: String(isCurrent))
        line.add("host", context.host)
        line.add("cluster", context.cluster)
        line.add("port", context.port)
        line.add("path", context.path)
        line.add("tls", json: context.tls.map { String($0) })
        line.add("ca_file", context.caFile)
        line.add("pin", context.pin)
        line.add("proxy", shownProxy)
        line.add("app_id", context.appID)
        line.add("key", context.key)
        line.add("has_secret", json: String(context.secret != nil))
        line.add("has_encryption_master_key", json: String(context.encryptionMasterKey != nil))
        line.add("auth_endpoint", context.authEndpoint)
        line.add("user_auth_endpoint", context.userAuthEndpoint)
        return line.text
    }

    /// The proxy without a password.
    private var shownProxy: String? {
        guard let proxy = context.proxy, var url = URLComponents(string: proxy) else { return nil }
        (url.user, url.password) = (nil, nil)
        return url.string.map { $0.isEmpty ? "none" : $0 }
    }

    /// Returns columns such as `* local  127.0.0.1:6001  app-key`.
    func columns(style: TextStyle) -> [TerminalText] {
        [
            "\(isCurrent ? "*" : " ") \(style.event(name))", style.channel(context.serverName),
            TerminalText(context.key ?? ""), context.usesTLS ? "" : "no TLS",
        ]
    }

    /// One line per setting.
    var details: [TerminalText] {
        let rows: [(String, String?)] = [
            ("name", name), ("host", context.host), ("cluster", context.cluster),
            ("port", context.port.map { String($0) }), ("path", context.path),
            ("TLS", context.tls.map { $0 ? "yes" : "no" }), ("CA file", context.caFile), ("pin", context.pin),
            ("proxy", shownProxy),
            ("app id", context.appID),
            ("key", context.key), ("secret", context.secret.map { _ in "kept, not shown" }),
            ("encryption master key", context.encryptionMasterKey.map { _ in "kept, not shown" }),
            ("auth endpoint", context.authEndpoint), ("user auth endpoint", context.userAuthEndpoint),
        ]
        return rows.compactMap { label, value in
            value.map { "\(label.padding(toLength: 22, withPad: " ", startingAt: 0))\($0)" }
        }
    }
}
