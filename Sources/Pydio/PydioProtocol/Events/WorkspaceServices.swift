import Foundation

/// The ways in which a server reports changes, according to its registry (section 9).
package struct WorkspaceServices: Hashable, Sendable {
    package struct WebSocket: Hashable, Sendable {
        /// The URL without the query.
        package var url: String
        package var host: String
        package var isSecure: Bool

        package init(url: String, host: String, isSecure: Bool) {
            (self.url, self.host, self.isSecure) = (url, host, isSecure)
        }
    }

    /// Whether there are mailboxes.
    package var hasMailbox: Bool
    /// Whether there is a change log.
    package var hasFeed: Bool
    /// The interval that clients must wait between polls.
    package var pollInterval: Duration?
    package var webSocket: WebSocket?

    package init(
        hasMailbox: Bool = true, hasFeed: Bool = false, pollInterval: Duration? = nil, webSocket: WebSocket? = nil
    ) {
        self.hasMailbox = hasMailbox
        self.hasFeed = hasFeed
        self.pollInterval = pollInterval
        self.webSocket = webSocket
    }

    /// - Parameter registry: The `plugins` part of the registry.
    /// - Returns: `nil` if it lists none.
    package init?(registry: XMLNode) {
        var plugins: [String: XMLNode] = [:]
        Self.collect(registry, into: &plugins)
        guard !plugins.isEmpty else { return nil }
        let settings = Settings(plugins["core.mq"])
        self.init(
            hasMailbox: plugins["core.mq"] != nil, hasFeed: plugins["meta.syncable"] != nil,
            pollInterval: settings.integer("POLLER_FREQUENCY").map { .seconds(min(max($0, 1), 3600)) },
            webSocket: settings.newWebSocket ?? settings.oldWebSocket)
    }

    private static func collect(_ element: XMLNode, into plugins: inout [String: XMLNode]) {
        for child in element.children {
            if let id = child["id"], child.child("plugin_configs") != nil || child.name.hasSuffix("plugin") {
                plugins[id] = child
            } else {
                collect(child, into: &plugins)
            }
        }
    }
}

/// The settings of a plugin: texts, usually JSON.
private struct Settings {
    private var values: [String: Any] = [:]

    init(_ plugin: XMLNode?) {
        for property in plugin?.child("plugin_configs")?.children("property") ?? [] {
            guard let name = property["name"] else { continue }
            let json = try? JSONSerialization.jsonObject(with: Data(property.text.utf8), options: .fragmentsAllowed)
            values[name] = json ?? property.text
        }
    }

    init(_ values: [String: Any]) {
        self.values = values
    }

    func text(_ name: String) -> String? {
        switch values[name] {
        case let text as String: text.isEmpty ? nil : text
        case let number as NSNumber: number.stringValue
        default: nil
        }
    }

    func integer(_ name: String) -> Int? { text(name).flatMap { Int($0) } }

    func isSet(_ name: String) -> Bool {
        switch values[name] {
        case let flag as Bool: flag
        case let text as String: text == "true" || text == "1"
        // The newer server's switches contain settings.
        case let object as [String: Any]: !object.isEmpty
        default: false
        }
    }

    private func object(_ name: String) -> [String: Any]? {
        if let text = values[name] as? String {
            return (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
        }
        return values[name] as? [String: Any]
    }

    /// The WebSocket of the script in versions 5 and 6.
    var oldWebSocket: WorkspaceServices.WebSocket? {
        guard isSet("WS_SERVER_ACTIVE"), let host = text("WS_SERVER_HOST") else { return nil }
        let path = text("WS_SERVER_PATH") ?? "/"
        return Self.webSocket(
            host, integer("WS_SERVER_PORT"), path.hasPrefix("/") ? path : "/" + path,
            isSecure: isSet("WS_SERVER_SECURE"))
    }

    /// The WebSocket of `pydio-booster`.
    var newWebSocket: WorkspaceServices.WebSocket? {
        guard isSet("WS_ACTIVE") else { return nil }
        let path = text("WS_PATH") ?? "ws"
        let target = path.hasPrefix("/") ? path : "/" + path
        if let own = object("BOOSTER_WS_ADVANCED").map({ Settings($0) }), own.text("booster_ws_advanced") == "custom",
            let host = own.text("WS_HOST")
        {
            return Self.webSocket(host, own.integer("WS_PORT"), target, isSecure: own.isSet("WS_SECURE"))
        }
        guard let host = text("BOOSTER_MAIN_HOST") else { return nil }
        return Self.webSocket(host, integer("BOOSTER_MAIN_PORT"), target, isSecure: isSet("BOOSTER_MAIN_SECURE"))
    }

    /// - Returns: `nil` if the host, port or path is invalid.
    private static func webSocket(
        _ host: String, _ port: Int?, _ path: String, isSecure: Bool
    ) -> WorkspaceServices.WebSocket? {
        let port = port ?? 8090
        let url = "\(isSecure ? "wss" : "ws")://\(host):\(port)\(path)"
        guard (1...65_535).contains(port), let components = URLComponents(string: url), components.port == port,
            components.host?.isEmpty == false, components.user == nil, components.password == nil,
            components.query == nil, components.fragment == nil
        else { return nil }
        return WorkspaceServices.WebSocket(url: url, host: host, isSecure: isSecure)
    }
}
