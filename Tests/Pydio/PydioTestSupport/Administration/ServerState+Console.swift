import Basics

/// The administrators' page: lists of users and workspaces, and their changes.
extension ServerState {
    /// Returns `nil` for actions that every workspace has.
    mutating func consoleAnswer(_ action: Action, _ call: Call) -> FakePydioAnswer? {
        switch action {
        case .list: return consoleList(call)
        case .edit: return subAction(call["sub_action"] ?? "", call)
        // A separate action since version 7.
        case .updateUserRight: return mode == .v8 ? updateRight(call) : .empty
        case .delete: return consoleDelete(call)
        case .stat: return .json(.object([("mode", .bool(true))]))
        case _: return nil
        }
    }

    private func index(of user: String?) -> Int? {
        // The newer servers strip invalid characters and use the rest as the name.
        let name = mode == .v8 ? user.map(Self.sanitised) : user
        return configuration.users.firstIndex { $0.id == name }
    }

    private static func sanitised(_ name: String) -> String {
        name.filter { $0.isASCII && ($0.isLetter || $0.isNumber || "_-@!%+=|~?.".contains($0)) }
    }

    private static func done(_ text: String, reload id: String? = nil, isReloadFirst: Bool = false) -> FakePydioAnswer {
        let message = XMLElement("message", [("type", "SUCCESS")], text: text)
        guard let id else { return .tree(message) }
        let reload = XMLElement("reload_instruction", [("object", "data"), ("node", ""), ("file", id)])
        return isReloadFirst ? .tree(reload, message) : .tree(message, reload)
    }

    private static let wrongArguments = FakePydioAnswer.error("Wrong Arguments")

    // MARK: Changes

    private mutating func subAction(_ name: String, _ call: Call) -> FakePydioAnswer {
        guard !configuration.missingSubActions.contains(name) else { return .empty }
        switch name {
        case "create_user": return createUser(call)
        case "update_user_pwd":
            guard let index = index(of: call["user_id"]), let password = call["user_pwd"], !password.isEmpty else {
                return Self.wrongArguments
            }
            configuration.users[index].passwordDigest = digest(ofSent: password)
            return Self.done("Password successfully updated for user")
        case "change_admin_right":
            guard let index = index(of: call["user_id"]) else { return .error("Invalid user id!") }
            configuration.users[index].isAdministrator = call["right_value"] == "1"
            return Self.done("Changed admin right for user")
        case "user_set_lock":
            guard let index = index(of: call["user_id"]) else { return .empty }
            configuration.users[index].condition = call["lock"] == "true" ? .lockedOut : .normal
            // The older servers do it silently.
            return mode == .v8 ? Self.done("Lock has been set") : .empty
        case "user_add_role", "user_delete_role":
            guard let index = index(of: call["user_id"]), let role = call["role_id"], role != "none" else {
                return Self.wrongArguments
            }
            configuration.users[index].roles.removeAll { $0 == role }
            if name == "user_add_role" { configuration.users[index].roles.append(role) }
            return Self.done("Changed roles of user")
        case "user_update_right": return mode == .v5_2 ? updateRight(call) : .empty
        case "edit_role":
            guard let id = call["role_id"]?.split(separator: "/").last, let index = index(of: String(id)) else {
                return .error("Cant find role! ")
            }
            let isLocked = configuration.users[index].condition == .lockedOut
            return .json(.object([("USER", .object([("LOCK", isLocked ? .string("logout") : .bool(false))]))]))
        case "create_repository": return createWorkspace(call)
        case _: return .empty
        }
    }

    private mutating func createUser(_ call: Call) -> FakePydioAnswer {
        guard let name = call["new_user_login"], !name.isEmpty, let password = call["new_user_pwd"], !password.isEmpty
        else { return Self.wrongArguments }
        guard Self.sanitised(name) == name else {
            return .error("Some characters are not allowed in the login: try \(Self.sanitised(name))")
        }
        guard user(name) == nil else { return .error("User already exists, please choose another login!") }
        var new = FakePydioUser(id: name, password: "", rights: [:])
        new.passwordDigest = digest(ofSent: password)
        configuration.users.append(new)
        return Self.done("User created successfully", reload: name, isReloadFirst: mode == .v8)
    }

    private mutating func updateRight(_ call: Call) -> FakePydioAnswer {
        guard let index = index(of: call["user_id"]), let workspace = call["repository_id"], let right = call["right"]
        else { return Self.wrongArguments }
        var rights = configuration.users[index].rights ?? [:]
        let new: FakePydioUser.Rights = [right.contains("r") ? .read : [], right.contains("w") ? .write : []]
        rights[workspace] = new.isEmpty ? nil : new
        configuration.users[index].rights = rights
        let no = mode == .v8 ? "0" : ""
        return .tree(
            XMLElement("message", [("type", "SUCCESS")], text: "Changed rights for user"),
            XMLElement(
                "update_checkboxes",
                [
                    ("user_id", call["user_id"] ?? ""), ("repository_id", workspace),
                    ("read", new.contains(.read) ? "1" : no), ("write", new.contains(.write) ? "1" : no),
                ]))
    }

    private mutating func createWorkspace(_ call: Call) -> FakePydioAnswer {
        guard let label = call["DISPLAY"], !label.isEmpty, call["DRIVER"] == "fs", call["DRIVER_OPTION_PATH"] != nil
        else { return .error("Cannot find this driver") }
        guard !configuration.workspaces.contains(where: { $0.label == label }) else {
            return .error("A repository with the same name already exists")
        }
        let id = Digest.random(32).lowercased()
        let slug = call["AJXP_SLUG"] ?? label.lowercased().replacing(" ", with: "-")
        configuration.workspaces.append(
            FakePydioWorkspace(
                id: id, slug: slug, label: label, description: call["DRIVER_OPTION_USER_DESCRIPTION"],
                hasRecycleBin: call["DRIVER_OPTION_RECYCLE_BIN"] != nil))
        return Self.done("Successfully created repository", reload: id)
    }

    private mutating func consoleDelete(_ call: Call) -> FakePydioAnswer {
        if let id = call["repository_id"] {
            guard let index = configuration.workspaces.firstIndex(where: { $0.id == id }) else {
                return .error("Could not delete the workspace")
            }
            configuration.workspaces.remove(at: index)
            return Self.done("Successfully deleted repository")
        }
        guard let id = call["user_id"], !id.isEmpty else { return Self.wrongArguments }
        // The older servers check neither whether the user exists nor whether it is the caller.
        if let index = index(of: id) { configuration.users.remove(at: index) }
        return Self.done("User successfully deleted")
    }

    // MARK: Lists

    private func consoleList(_ call: Call) -> FakePydioAnswer {
        var dir = call["dir"] ?? "/"
        var page = 1
        if let mark = dir.ranges(of: "%23").last, let number = Int(dir[mark.upperBound...]) {
            page = max(number, 1)
            dir = String(dir[..<mark.lowerBound])
        }
        let path = TreePath(dir)
        var entries: [XMLElement]
        var head: [XMLElement] = []
        switch path.pieces.prefix(2) {
        case ["data", "users"]:
            let group = path.pieces.dropFirst(2).map { "/" + $0 }.joined()
            entries = users(in: group, call)
            if page == 1 { head = groups(in: group, path) }
        case ["data", "repositories"]: entries = configuration.workspaces.map(workspaceEntry)
        case _: return .tree("")
        }
        let (count, size) = (entries.count, configuration.administrationPageSize)
        var content: [XMLElement] = []
        if count > size {
            let total = (count + size - 1) / size
            content.append(
                XMLElement(
                    "pagination",
                    [("count", String(count)), ("total", String(total)), ("current", String(page))]))
            entries = Array(entries.dropFirst((page - 1) * size).prefix(size))
        }
        content.append(XMLElement("columns", [("template_name", "ajxp_conf.users")]))
        content += head + entries
        // Only the newer servers name the listed folder.
        let attributes = mode == .v8 ? [("filename", path.text), ("is_file", "false"), ("text", "")] : []
        return .xml(XMLElement("tree", [("remote_indexation", "admin_search")] + attributes, content).xml)
    }

    private func groups(in group: String, _ path: TreePath) -> [XMLElement] {
        let below = Set(
            configuration.users.compactMap { user -> String? in
                guard user.group.hasPrefix(group + "/") else { return nil }
                return user.group.dropFirst(group.count + 1).split(separator: "/").first.map { String($0) }
            })
        return below.sorted().map { name in
            XMLElement(
                "tree",
                [
                    ("filename", "\(path.text)/\(name)"), ("text", name), ("is_file", "false"), ("ajxp_mime", "group"),
                    ("object_id", "/" + name), ("icon", "users-folder.png"),
                ])
        }
    }

    private func users(in group: String, _ call: Call) -> [XMLElement] {
        configuration.users.filter { $0.group == group }.map { user in
            let icon = user.parent != nil ? "user_child" : user.isAdministrator ? "user_admin" : "user"
            return XMLElement(
                "tree",
                [
                    ("filename", "/data/users\(group)/\(user.id)"), ("text", user.id), ("is_file", "true"),
                    ("isAdmin", user.isAdministrator ? "Ja" : "Nein"), ("icon", icon + ".png"),
                    ("object_id", user.id), ("ajxp_roles", user.roles.joined(separator: ", ")),
                    ("rights_summary", ""), ("ajxp_mime", user.id == call.user.id ? "user" : "user_editable"),
                ])
        }
    }

    private func workspaceEntry(_ workspace: FakePydioWorkspace) -> XMLElement {
        XMLElement(
            "tree",
            [
                ("filename", "/data/repositories/\(workspace.id)"), ("text", workspace.label), ("is_file", "true"),
                ("repository_id", workspace.id), ("accessType", workspace.accessType), ("slug", workspace.slug),
                ("owner", workspace.owner ?? ""), ("icon", "hdd_external_unmount.png"),
                ("ajxp_mime", "repository_editable"),
            ])
    }
}
