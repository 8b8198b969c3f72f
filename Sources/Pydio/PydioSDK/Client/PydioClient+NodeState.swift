import PydioProtocol

// Locks, notifications and permissions, which a listing then shows for the node.
extension PydioClient {
    /// Locks a node, so that only the user can change it until it is unlocked. Fails if another user has locked it:
    /// servers would remove that lock.
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

    /// Like the `async` form, but with blocks.
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
    /// - Parameter breaksOthers: Whether to remove even another user's lock; otherwise the call fails and that lock
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

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func unlock(
        workspaceId: String, path: String, breaksOthers: Bool = false, success: @escaping () -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) {
            try await self.unlock(workspaceId: workspaceId, path: path, breaksOthers: breaksOthers)
        }
    }

    /// Sets the events of which the server notifies the user, usually by mail: changes or reads of a file, or of a
    /// folder's contents.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without notifications.
    ///
    /// - Parameter watch: The events; pass `nil` for none.
    public func setWatch(workspaceId: String, path: String, to watch: PydioWatch?) async throws {
        let operations = try operations()
        try await operations.call {
            if watch == nil {
                // A server that is asked to stop a watch that doesn't exist starts one.
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

    /// Like the `async` form, but with blocks.
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
    ///   - mode: The permissions, such as `0o644`.
    ///   - isRecursive: Whether to also change the contents of folders. Default: no.
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

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func chmod(
        workspaceId: String, nodes: [String], mode: Int, isRecursive: Bool = false,
        success: @escaping (PydioSuccessResponse) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.chmod(workspaceId: workspaceId, nodes: nodes, mode: mode, isRecursive: isRecursive)
        }
    }

    /// Makes the server permanently delete nodes older than the age that an administrator has set for the workspace
    /// (`PURGE_AFTER`). Servers report neither whether there is such a limit nor what they have deleted.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server that does not purge.
    public func purge(workspaceId: String) async throws {
        let operations = try operations()
        try await operations.call {
            try await operations.require(.purge, in: workspaceId)
            try await operations.value(of: .editing("purge", workspaceId, [:]), .nothing(for: "purge"))
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func purge(
        workspaceId: String, success: @escaping () -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) { try await self.purge(workspaceId: workspaceId) }
    }
}
