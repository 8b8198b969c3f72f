import Basics

/// Public links.
extension ServerState {
    mutating func shareAnswer(_ call: Call) -> FakePydioAnswer {
        // The older servers know only one parameter for the shared node.
        let path = mode == .v5_2 ? call["file"].map { TreePath($0) } : call.selection.first
        guard let path, tree(call.treeKey)[path] != nil else { return .error("Cannot find file!") }
        if call["sub_action"] == "create_minisite", (call["repo_label"] ?? "").isEmpty {
            return mode == .v5_2 ? .text("100") : .error("Missing arguments")
        }
        if let hash = call["hash"], !hash.isEmpty { return changeLink(hash, at: path, call) }
        var link = FakePydioLink(
            id: Digest.random(12).lowercased(), isMinisite: mode == .v8 || call["sub_action"] == "create_minisite",
            label: call["repo_label"] ?? path.name, guest: Digest.random(12).lowercased(),
            workspace: Digest.random(32).lowercased())
        set(&link, call)
        shares[call.treeKey, default: [:]][path, default: []].append(link)
        return .text(publicLink(link.id))
    }

    private mutating func changeLink(_ hash: String, at path: TreePath, _ call: Call) -> FakePydioAnswer {
        guard let index = shares[call.treeKey]?[path]?.firstIndex(where: { $0.id == hash }),
            var link = shares[call.treeKey]?[path]?[index], call["repository_id"] == link.workspace,
            call["guest_user_id"] == link.guest
        else { return .error("Cannot find share") }
        set(&link, call)
        shares[call.treeKey]?[path]?[index] = link
        return .text(publicLink(link.id))
    }

    /// Rights are sent together; other settings stay unchanged without a parameter.
    private func set(_ link: inout FakePydioLink, _ call: Call) {
        link.label = call["repo_label"] ?? link.label
        link.description = call["repo_description"] ?? ""
        if call["sub_action"] == "create_minisite" {
            link.canRead = call.isSet("simple_right_read")
            link.canWrite = call.isSet("simple_right_write")
            link.canDownload = call.isSet("simple_right_download")
        }
        if let password = call["guest_user_pass"] { link.password = password.isEmpty ? nil : password }
        if let days = call["expiration"].flatMap({ Int($0) }) {
            // Only the newer servers remove an existing date.
            link.expiry = days > 0 ? now + days * 86_400 : mode == .v8 ? nil : link.expiry
        }
        if let limit = call["downloadlimit"].flatMap({ Int($0) }) {
            link.downloadLimit = limit > 0 ? limit : mode == .v8 ? nil : link.downloadLimit
        }
    }

    private func publicLink(_ id: String) -> String { "\(origin)\(configuration.basePath)/public/\(id)" }

    // MARK: Existing shares

    /// The newer servers report that there is no share; some never find one by its file.
    func sharedElement(_ call: Call) -> FakePydioAnswer {
        guard let path = call.selection.first, tree(call.treeKey)[path] != nil else {
            return .error("Cannot find file!")
        }
        guard configuration.describesMinisites || call["element_type"] != "minisite" else { return .empty }
        let links = shares[call.treeKey]?[path] ?? []
        guard mode == .v5_2 else {
            guard let first = links.first, configuration.findsShares else {
                return .error("Could not find any share data for \(path.text)")
            }
            // Of several workspaces, the first is used.
            let links = links.filter { $0.workspace == first.workspace }
            let members = links.map { ($0.id, JSONValue.object(settings(of: $0, asLink: true))) }
            return .json(.object(common(first, links) + [("links", .object(members))]))
        }
        // Of several links, the older servers describe the requested one, or the first.
        guard let link = call["hash"].map({ hash in links.first { $0.id == hash } }) ?? links.first else {
            guard call["hash"] != nil else { return .json(.array([])) }
            return .json(
                .object([
                    ("error", .bool(true)), ("label", .string("Error - Cannot find shared data")),
                    ("entries", .array([])),
                ]))
        }
        guard link.isMinisite else {
            return .json(
                .object([
                    ("publiclet_link", .string(publicLink(link.id))), ("element_id", .string(link.id)),
                    ("download_counter", .number(0)),
                    ("download_limit", .number(0)), ("expire_time", .number(0)), ("has_password", .bool(false)),
                ]))
        }
        return .json(
            .object(
                common(link, [link]) + settings(of: link, asLink: false) + [
                    (
                        "minisite",
                        .object([
                            ("public", .string(String(link.password == nil))),
                            ("public_link", .string(publicLink(link.id))),
                            ("disable_download", .bool(!link.canDownload)), ("hash", .string(link.id)),
                            ("hash_is_shorten", .bool(false)),
                        ])
                    )
                ]))
    }

    private func common(_ first: FakePydioLink, _ links: [FakePydioLink]) -> [(String, JSONValue)] {
        let entries = links.map { link in
            JSONValue.object([
                ("ID", .string(link.guest)), ("TYPE", .string("tmp_user")), ("LABEL", .string(link.guest)),
                ("RIGHT", .string((link.canRead ? "r" : "") + (link.canWrite ? "w" : ""))),
            ])
        }
        return [
            ("repositoryId", .string(first.workspace)), ("users_number", .number(links.count)),
            ("label", .string(first.label)), ("description", .string(first.description)), ("entries", .array(entries)),
            ("element_watch", .bool(false)),
        ]
    }

    /// - Parameter isLink: Whether all settings are part of a link; otherwise some are elsewhere.
    private func settings(of link: FakePydioLink, asLink isLink: Bool) -> [(String, JSONValue)] {
        var result: [(String, JSONValue)] = []
        if isLink {
            result += [
                ("public", .string(String(link.password == nil))), ("disable_download", .bool(!link.canDownload)),
                ("hash", .string(link.id)), ("hash_is_shorten", .bool(false)),
                ("internal_user_id", .string(link.guest)),
                ("public_link", .string(publicLink(link.id))),
            ]
        }
        if let limit = link.downloadLimit, link.canDownload {
            result += [("download_counter", .number(0)), ("download_limit", .number(limit))]
        }
        if let expiry = link.expiry {
            let days = ((expiry - now) + 43_200) / 86_400
            result += [("expire_time", .string("31/12/2099 12:00")), ("expire_after", .number(days))]
        } else {
            result.append(("expire_after", .number(0)))
        }
        result.append(("is_expired", .bool(link.expiry.map { $0 < now } ?? false)))
        if link.password != nil { result.append(("has_password", .bool(true))) }
        return result
    }

    // MARK: Ending shares

    /// The older servers end one share and answer nothing, the newer ones end all of them and confirm it even if there
    /// was none. The newer ones also accept the name of a link.
    mutating func unshareAnswer(_ call: Call) -> FakePydioAnswer {
        guard let path = call.selection.first, tree(call.treeKey)[path] != nil else {
            return .error("Cannot find file!")
        }
        var links = shares[call.treeKey]?[path] ?? []
        let name = mode == .v8 ? call["hash"] ?? call["element_id"] : call["element_id"]
        let index = name.flatMap { name in links.firstIndex { $0.id == name } }
        switch (mode, index) {
        case (.v8, nil) where call["hash"] != nil: return .empty
        case (.v8, nil): links = []
        case (.v5_2, nil): links = Array(links.dropFirst())
        case (_, let index?): links.remove(at: index)
        }
        shares[call.treeKey]?[path] = links.isEmpty ? nil : links
        guard mode == .v8 else { return .empty }
        return .tree(XMLElement("message", [("type", "SUCCESS")], text: "The link has been removed"))
    }
}
