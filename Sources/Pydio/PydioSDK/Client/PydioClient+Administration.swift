import PydioProtocol

// If the user is not an administrator, all of these fail with `notPermitted` before they change anything.
extension PydioClient {
    /// Returns all users of the server, including those in groups.
    public func users() async throws -> [PydioUserAccount] {
        try await administering { operations, console in try await operations.users(in: console) }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func users(
        success: @escaping ([PydioUserAccount]) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.users() }
    }

    /// Creates a user with only the rights that all users have.
    public func createUser(userId: String, password: String) async throws {
        guard !userId.isEmpty, !password.isEmpty else {
            throw PydioError(.invalidArgument, "a user needs a name and a password; nothing was changed")
        }
        try await administering { operations, console in
            try await operations.setPassword(
                password, "create_user", name: "new_user_login", userId, secret: "new_user_pwd", to: "create users",
                console)
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func createUser(
        userId: String, password: String, success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.createUser(userId: userId, password: password) }
    }

    /// Deletes a user and the data that the server keeps only for that user.
    public func deleteUser(userId: String) async throws {
        try await administering { operations, console in
            _ = try await operations.editableUser(userId, console)
            let request = PydioRequest.editing("delete", console, ["user_id": .text(userId)])
            _ = try await operations.value(of: request, .administration("delete users"))
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func deleteUser(
        userId: String, success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.deleteUser(userId: userId) }
    }

    /// Changes a user's password.
    public func setPassword(_ password: String, ofUser userId: String) async throws {
        guard !password.isEmpty else {
            throw PydioError(.invalidArgument, "the new password is empty; nothing was changed")
        }
        try await administering { operations, console in
            _ = try await operations.existingUser(userId, console)
            try await operations.setPassword(
                password, "update_user_pwd", name: "user_id", userId, secret: "user_pwd", to: "change users' passwords",
                console)
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func setPassword(
        _ password: String, ofUser userId: String, success: @escaping () -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.setPassword(password, ofUser: userId) }
    }

    /// Grants or revokes a user's administrator rights.
    public func setAdministrator(_ isAdministrator: Bool, user userId: String) async throws {
        try await administering { operations, console in
            _ = try await operations.editableUser(userId, console)
            let request = PydioRequest.administering(
                "change_admin_right", console,
                ["user_id": .text(userId), "right_value": isAdministrator ? "1" : "0"])
            _ = try await operations.value(of: request, .administration("make administrators"))
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func setAdministrator(
        _ isAdministrator: Bool, user userId: String, success: @escaping () -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.setAdministrator(isAdministrator, user: userId) }
    }

    /// Locks or unlocks a user's login.
    public func setLocked(_ isLocked: Bool, user userId: String) async throws {
        try await administering { operations, console in
            _ = try await operations.editableUser(userId, console)
            try await operations.setLocked(isLocked, userId, console)
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func setLocked(
        _ isLocked: Bool, user userId: String, success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.setLocked(isLocked, user: userId) }
    }

    /// Assigns an existing role to a user, or removes it.
    public func setRole(_ role: String, _ isGiven: Bool, user userId: String) async throws {
        try await administering { operations, console in
            _ = try await operations.existingUser(userId, console)
            let request = PydioRequest.administering(
                isGiven ? "user_add_role" : "user_delete_role", console,
                ["user_id": .text(userId), "role_id": .text(role)])
            _ = try await operations.value(of: request, .administration("change users' roles"))
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func setRole(
        _ role: String, _ isGiven: Bool, user userId: String, success: @escaping () -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.setRole(role, isGiven, user: userId) }
    }

    /// Sets a user's rights in a workspace, in addition to those from the user's roles and groups.
    public func setRights(_ rights: PydioRights, ofUser userId: String, inWorkspace workspaceId: String) async throws {
        try await administering { operations, console in
            _ = try await operations.existingUser(userId, console)
            _ = try await operations.existingWorkspace(workspaceId, console)
            try await operations.setRights(rights, userId, workspaceId, console)
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func setRights(
        _ rights: PydioRights, ofUser userId: String, inWorkspace workspaceId: String, success: @escaping () -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) {
            try await self.setRights(rights, ofUser: userId, inWorkspace: workspaceId)
        }
    }

    // MARK: Workspaces

    /// Returns all workspaces of the server, not only those that the user may open, but without the server's own
    /// administration pages.
    public func listAllWorkspaces() async throws -> [WorkspaceResponse] {
        try await administering { operations, console in try await operations.allWorkspaces(in: console) }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func listAllWorkspaces(
        success: @escaping ([WorkspaceResponse]) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.listAllWorkspaces() }
    }

    /// Creates a workspace.
    ///
    /// - Returns: The workspace's id; `nil` if the server doesn't report it.
    @discardableResult
    public func createWorkspace(_ params: CreateWorkspaceRequestParams) async throws -> String? {
        guard !params.label.isEmpty, !params.path.isEmpty else {
            throw PydioError(.invalidArgument, "a workspace needs a label and a path; nothing was changed")
        }
        return try await administering { operations, console in
            let request = PydioRequest.administering("create_repository", console, params.dictionaryRepresentation)
            let answer = try await operations.value(of: request, .administration("create workspaces"))
            return answer.children("reload_instruction").compactMap { $0["file"] }.first { !$0.isEmpty }
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func createWorkspace(
        _ params: CreateWorkspaceRequestParams, success: @escaping (String?) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.createWorkspace(params) }
    }

    /// Deletes a workspace. Its files stay on the server's disk.
    public func deleteWorkspace(workspaceId: String) async throws {
        try await administering { operations, console in
            _ = try await operations.existingWorkspace(workspaceId, console)
            let request = PydioRequest.editing("delete", console, ["repository_id": .text(workspaceId)])
            _ = try await operations.value(of: request, .administration("delete workspaces"))
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func deleteWorkspace(
        workspaceId: String, success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.deleteWorkspace(workspaceId: workspaceId) }
    }

    /// Runs a call that uses the server's own administration page.
    private func administering<Value: Sendable>(
        _ body: @escaping @Sendable (OperationsClient, _ console: String) async throws -> Value
    ) async throws -> Value {
        let operations = try operations()
        return try await operations.call { try await body(operations, try await operations.console()) }
    }
}

extension OperationsClient {
    /// Returns the id of the workspace that is the administration page. Other users don't have it, and servers would
    /// answer its requests from another workspace.
    fileprivate func console() async throws -> String {
        let workspaces = try await value(of: .registry("user/repositories"), .workspaces)
        guard let console = workspaces.first(where: { $0.accessType == "ajxp_conf" }) else {
            throw PydioError(
                .notPermitted,
                "the user is not an administrator of \(authorization.connection.server.host); "
                    + "nothing was changed")
        }
        return console.workspaceId
    }

    // MARK: Lists

    /// Reads all pages of one of the server's lists.
    ///
    /// - Parameter take: Handles an entry; returns false to stop.
    private func list(
        _ folder: String, in console: String, pages: inout Int, take: (XMLNode) throws -> Bool
    ) async throws -> Bool {
        var params = ListNodesRequestParams(workspaceId: console, path: folder)
        var number = 1
        while true {
            pages += 1
            guard pages <= options.maximumPages else {
                throw PydioError(
                    .tooLarge, "the server's list has more than \(options.maximumPages) pages (maximumPages)")
            }
            let page = try await value(of: PydioRequest(.get, "ls", params, path: ["dir"]), .administrationPage)
            for entry in page.entries where try !take(entry) { return false }
            guard number < page.total else { return true }
            number += 1
            params.page = number
        }
    }

    /// - Parameter isWanted: Stops the search at the first user for which it returns true.
    fileprivate func users(
        in console: String, until isWanted: @Sendable (PydioUserAccount) -> Bool = { _ in false }
    ) async throws -> [PydioUserAccount] {
        let top = "/data/users"
        var users: [PydioUserAccount] = []
        var waiting = [top]
        var known: Set<String> = [top]
        var (pages, size) = (0, 0)
        while let group = waiting.popLast() {
            let path = String(group.dropFirst(top.count))
            let goesOn = try await list(group, in: console, pages: &pages) { entry in
                if let user = PydioUserAccount(entry, in: path.isEmpty ? "/" : path) {
                    size += entry.attributes.reduce(0) { $0 + $1.value.utf8.count }
                    guard size <= options.maximumListingSize else {
                        throw PydioError(
                            .tooLarge,
                            "the server's list of users has more than \(options.maximumListingSize) bytes "
                                + "(maximumListingSize)")
                    }
                    users.append(user)
                    return !isWanted(user)
                }
                // A group is below the one that it is listed in.
                if entry["ajxp_mime"]?.hasPrefix("group") == true, let folder = entry["filename"],
                    folder.hasPrefix(group + "/"), folder.count > group.count + 1, known.insert(folder).inserted
                {
                    waiting.append(folder)
                }
                return true
            }
            guard goesOn else { break }
        }
        return users
    }

    fileprivate func allWorkspaces(in console: String) async throws -> [WorkspaceResponse] {
        var workspaces: [WorkspaceResponse] = []
        var pages = 0
        _ = try await list("/data/repositories", in: console, pages: &pages) { entry in
            if let workspace = WorkspaceResponse(administrationEntry: entry) { workspaces.append(workspace) }
            return true
        }
        return workspaces
    }

    /// Returns an existing user. Servers drop characters that they don't accept, which may turn the name into another
    /// user's, and they report success for deleting a user that does not exist.
    fileprivate func existingUser(_ id: String, _ console: String) async throws -> PydioUserAccount {
        let users = try await users(in: console) { $0.userId == id }
        guard let user = users.last, user.userId == id else {
            throw PydioError(.invalidArgument, "there is no user \(id); nothing was changed")
        }
        return user
    }

    /// Returns an existing user other than the caller: users who lock or delete themselves are locked out, and some
    /// versions allow that.
    fileprivate func editableUser(_ id: String, _ console: String) async throws -> PydioUserAccount {
        let user = try await existingUser(id, console)
        guard user.isEditable else {
            throw PydioError(
                .invalidArgument, "\(id) is your own account, or one that the server needs; nothing was changed")
        }
        return user
    }

    fileprivate func existingWorkspace(_ id: String, _ console: String) async throws -> WorkspaceResponse {
        guard let workspace = try await allWorkspaces(in: console).first(where: { $0.workspaceId == id }) else {
            throw PydioError(.invalidArgument, "there is no workspace \(id); nothing was changed")
        }
        return workspace
    }

    // MARK: Changes

    fileprivate func setPassword(
        _ password: String, _ action: String, name: String, _ userId: String, secret: String, to operation: String,
        _ console: String
    ) async throws {
        let sent = PasswordHash.new(password: password, seed: try await passwordSeed())
        var request = PydioRequest.administering(action, console, [name: .text(userId), secret: .text(sent)])
        request.secrets = [password, sent]
        _ = try await value(of: request, .administration(operation))
    }

    fileprivate func setLocked(_ isLocked: Bool, _ userId: String, _ console: String) async throws {
        let operation = isLocked ? "lock users" : "unlock users"
        let request = PydioRequest.administering(
            "user_set_lock", console,
            ["user_id": .text(userId), "lock": isLocked ? "true" : "false", "lock_type": "logout"])
        do {
            _ = try await value(of: request, .administration(operation))
        } catch let error as PydioError where error.code == .unsupportedOperation {
            // Versions before 7 don't confirm the change: only the user's details show it.
            let details = PydioRequest.administering(
                "edit_role", console, ["role_id": .text("AJXP_USR_/" + userId), "format": "json"])
            guard try await value(of: details, .userLock)?.isLocked == isLocked else { throw error }
        }
    }

    fileprivate func setRights(
        _ rights: PydioRights, _ userId: String, _ workspaceId: String, _ console: String
    ) async throws {
        let parameters: [String: PydioParameter] = [
            "user_id": .text(userId), "repository_id": .text(workspaceId), "right": .text(rights.text),
        ]
        let operation = "change users' rights"
        let answer: XMLNode
        do {
            answer = try await value(
                of: .administering("user_update_right", console, parameters), .administration(operation))
        } catch let error as PydioError where error.code == .unsupportedOperation {
            // Version 7 and later have a separate action for it.
            answer = try await value(
                of: .editing("user_update_right", console, parameters), .administration(operation))
        }
        guard let now = answer.child("update_checkboxes") else { return }
        guard (now["read"] == "1") == rights.contains(.read), (now["write"] == "1") == rights.contains(.write) else {
            throw PydioError(
                .receivedNotExpectedAnswer,
                "the server has taken the rights, but \(userId) has others: a role or a group gives or takes them")
        }
    }
}

extension PydioRequest {
    /// Returns one of the many requests of one action.
    fileprivate static func administering(
        _ action: String, _ console: String, _ parameters: [String: PydioParameter]
    ) -> PydioRequest {
        .editing("edit", console, parameters.merging(["sub_action": .text(action)]) { $1 })
    }
}
