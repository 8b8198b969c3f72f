import PydioProtocol

// Locks, notifications and permissions: what a listing then says of the node.
extension PydioClient {
    /// Locks a node, so that only the user can change it until it is unlocked. Fails if somebody else has locked it: servers
    /// would take that lock away.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without locks.
    public func lock(workspaceId: String, path: String) async throws {
        let operations = try operations()
        try await operations.call {
            let node = try await operations.existingNode(workspaceId, path)
            guard !node.isLocked || node.isLockedByUser else {
                throw PydioError(.errorResponse, "\(path) is locked by somebody else; the lock was left alone")
            }
            _ = try await operations.value(
                of: .editing("sl_lock", workspaceId, ["file": .text(path)]), .done(.locks))
        }
    }

    /// The same with blocks.
    @discardableResult
    public func lock(
        workspaceId: String, path: String, success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.lock(workspaceId: workspaceId, path: path) }
    }

    /// Unlocks a node.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without locks.
    ///
    /// - Parameter breaksOthers: Whether to take away the lock of somebody else, too; otherwise the call fails and the lock
    ///   stays. Default: no.
    public func unlock(workspaceId: String, path: String, breaksOthers: Bool = false) async throws {
        let operations = try operations()
        try await operations.call {
            let node = try await operations.existingNode(workspaceId, path)
            guard breaksOthers || !node.isLocked || node.isLockedByUser else {
                throw PydioError(.errorResponse, "\(path) is locked by somebody else; the lock was left alone")
            }
            _ = try await operations.value(
                of: .editing("sl_lock", workspaceId, ["file": .text(path), "unlock": "true"]), .done(.locks))
        }
    }

    /// The same with blocks.
    @discardableResult
    public func unlock(
        workspaceId: String, path: String, breaksOthers: Bool = false, success: @escaping () -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) {
            try await self.unlock(workspaceId: workspaceId, path: path, breaksOthers: breaksOthers)
        }
    }

    /// Chooses what the server notifies the user of, by mail as a rule: changes or reads of a file, or of what is in a
    /// folder.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without notifications.
    ///
    /// - Parameter watch: Nil is nothing.
    public func setWatch(workspaceId: String, path: String, to watch: PydioWatch?) async throws {
        let operations = try operations()
        try await operations.call {
            if watch == nil {
                // A server that is told to stop what it does not do begins to watch.
                guard try await operations.existingNode(workspaceId, path).attributes["meta_watched"] != nil else {
                    return
                }
            }
            _ = try await operations.value(
                of: .editing(
                    "toggle_watch", workspaceId,
                    ["file": .text(path), "watch_action": .text(watch?.action ?? "watch_stop")]), .done(.watches))
        }
    }

    /// The same with blocks.
    @discardableResult
    public func setWatch(
        workspaceId: String, path: String, to watch: PydioWatch?, success: @escaping () -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) {
            try await self.setWatch(workspaceId: workspaceId, path: path, to: watch)
        }
    }

    /// Changes the Unix permissions of nodes on the server's disk.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` in a workspace without permissions.
    ///
    /// - Parameters:
    ///   - mode: Such as `0o644`.
    ///   - isRecursive: Whether to change all that is in folders, too. Default: no.
    @discardableResult
    public func chmod(
        workspaceId: String, nodes: [String], mode: Int, isRecursive: Bool = false
    ) async throws -> PydioSuccessResponse {
        guard (0...0o7777).contains(mode) else {
            throw PydioError(.invalidArgument, "permissions are 0 to 7777, octal; nothing was sent")
        }
        let digits = String(mode, radix: 8)
        var parameters: [String: PydioParameter] = [
            "nodes": .list(nodes), "chmod_value": .text(String(repeating: "0", count: 4 - digits.count) + digits),
        ]
        if isRecursive { parameters.merge(["recursive": "on", "recur_apply_to": "both"]) { $1 } }
        return try await call(.editing("chmod", workspaceId, parameters), .done(.permissions))
    }

    /// The same with blocks.
    @discardableResult
    public func chmod(
        workspaceId: String, nodes: [String], mode: Int, isRecursive: Bool = false,
        success: @escaping (PydioSuccessResponse) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.chmod(workspaceId: workspaceId, nodes: nodes, mode: mode, isRecursive: isRecursive)
        }
    }

    /// Makes the server delete for good what is older than an administrator has set for the workspace (`PURGE_AFTER`).
    /// Servers say neither whether there is such a bound nor what they have deleted.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server that does not purge.
    public func purge(workspaceId: String) async throws {
        let operations = try operations()
        try await operations.call {
            try await operations.require(.purge, in: workspaceId)
            try await operations.value(of: .editing("purge", workspaceId, [:]), .nothing(for: "purge"))
        }
    }

    /// The same with blocks.
    @discardableResult
    public func purge(
        workspaceId: String, success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.purge(workspaceId: workspaceId) }
    }
}
