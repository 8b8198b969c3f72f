/// The registry: workspaces, settings, plugins.
extension ServerState {
    /// 5.2 only reads the path from the query.
    func registryPath(_ query: FormParameters, _ all: FormParameters) -> String? {
        mode == .v5_2 ? query["xPath"] : all["xPath"]
    }

    func registryAnswer(_ call: Call) -> FakePydioAnswer {
        guard let path = registryPath(call.request.query, call.parameters) ?? call["state_path"] else {
            return wholeRegistry(call)
        }
        let part = registryPart(path, call)
        let wantsJSON = call["format"] == "json" || call.request.field("Accept") == "application/json"
        guard wantsJSON, mode == .v8 else { return .registryPart(path, part) }
        return .json(.object(part.map { [($0.name, $0.json)] } ?? []))
    }

    private func registryPart(_ path: String, _ call: Call) -> XMLElement? {
        switch path {
        case "user/repositories":
            let isLocked = call.user.condition == .mustChangePassword
            return XMLElement("repositories", [], isLocked ? [] : workspaces(of: call.user).map { repo($0, call) })
        case "user/active_repo":
            return XMLElement("active_repo", [("id", call.workspace.id), ("write", "1"), ("read", "1")])
        case "user/preferences": return XMLElement("preferences", [], [])
        case "plugins": return XMLElement("plugins", [], plugins)
        case "actions":
            let offered = Action.allCases.filter { $0.plugin.map { configuration.plugins.contains($0) } ?? true }
            return XMLElement("actions", [], offered.map { XMLElement("action", [("name", $0.rawValue)]) })
        case _: return nil
        }
    }

    private func wholeRegistry(_ call: Call) -> FakePydioAnswer {
        let parts = ["user/repositories", "plugins", "actions"].compactMap { registryPart($0, call) }
        return .xml(XMLElement("ajxp_registry", [], parts).xml)
    }

    private func repo(_ workspace: FakePydioWorkspace, _ call: Call) -> XMLElement {
        var attributes = [("access_type", workspace.accessType), ("id", workspace.id)]
        if workspace.accessType == "fs", configuration.plugins.contains(.crossCopy) {
            attributes.append(("allowCrossRepositoryCopy", "true"))
        }
        attributes.append(("repositorySlug", workspace.slug))
        if let owner = workspace.owner { attributes.append(("owner", owner)) }
        let rights = call.user.rights(in: workspace.id) ?? []
        if rights != .all {
            attributes += [("r", String(rights.contains(.read))), ("w", String(rights.contains(.write)))]
        }
        var children = [XMLElement("label", text: workspace.label)]
        if let description = workspace.description { children.append(XMLElement("description", text: description)) }
        let texts = XMLElement("resources", [], [XMLElement("i18n", [("namespace", "x"), ("path", "y")])])
        children.append(XMLElement("client_settings", [("icon", "plugins/access.fs/icon.png")], [texts]))
        return XMLElement("repo", attributes, children)
    }

    // MARK: Plugins

    private var plugins: [XMLElement] {
        var result = [plugin("access.fs", [])]
        if configuration.hasPolling || configuration.hasWebSocket {
            result.append(plugin("core.mq", messageProperties))
        }
        if configuration.hasChanges { result.append(plugin("meta.syncable", [])) }
        if let limit = configuration.uploadLimit, configuration.tellsUploadLimit {
            result.append(plugin("core.uploader", [("UPLOAD_MAX_SIZE", .string(String(limit)))]))
        }
        return result
    }

    private func plugin(_ id: String, _ properties: [(String, JSONValue)]) -> XMLElement {
        let elements = properties.map { XMLElement("property", [("name", $0.0)], text: $0.1.text) }
        let configs = elements.isEmpty ? [] : [XMLElement("plugin_configs", [], elements)]
        return XMLElement("ajxp_plugin", [("id", id), ("enabled", "true")], configs)
    }

    /// The message plugin's properties, with values in JSON.
    private var messageProperties: [(String, JSONValue)] {
        var result: [(String, JSONValue)] = []
        if configuration.hasPolling { result.append(("POLLER_FREQUENCY", .number(configuration.pollerFrequency))) }
        let address = origin.split(separator: "/").last?.split(separator: ":") ?? []
        let host = JSONValue.string(address.first.map(String.init) ?? "")
        let port = JSONValue.string(address.last.map(String.init) ?? "")
        let isSecure = JSONValue.bool(configuration.tls != nil)
        switch mode {
        case .v5_2:
            result.append(("WS_SERVER_ACTIVE", .bool(configuration.hasWebSocket)))
            guard configuration.hasWebSocket else { break }
            result += [
                ("WS_SERVER_HOST", host), ("WS_SERVER_PORT", port), ("WS_SERVER_SECURE", isSecure),
                ("WS_SERVER_PATH", .string(configuration.basePath + Self.webSocketPath)),
            ]
        case .v8:
            result.append(("WS_ACTIVE", .bool(configuration.hasWebSocket)))
            guard configuration.hasWebSocket else { break }
            result += [
                ("BOOSTER_MAIN_HOST", host), ("BOOSTER_MAIN_PORT", port), ("BOOSTER_MAIN_SECURE", isSecure),
                ("WS_PATH", .string(String((configuration.basePath + Self.webSocketPath).dropFirst()))),
            ]
        }
        return result
    }

    static let webSocketPath = "/ws"
}

extension FakePydioAnswer {
    /// A part of the registry; without content, as for clients that are not logged in.
    static func registryPart(_ path: String?, _ content: XMLElement?) -> FakePydioAnswer {
        .xml(
            "<ajxp_registry_part xPath=\"\((path ?? "").xmlEscaped)\" >\(content?.xml ?? "")</ajxp_registry_part>")
    }
}
