import Basics
import PydioProtocol

extension PydioClient {
    /// Creates a zip archive of nodes, on the server. Fails if its name is taken.
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server that doesn't support archives.
    /// Version 7 and later may continue after they have answered; the call then fails with
    /// ``PydioError/Code-swift.enum/receivedNotExpectedAnswer``, but the archive will still be created.
    ///
    /// - Parameters:
    ///   - nodes: Files and folders of one folder.
    ///   - archive: The path of the archive, in the same folder; its name ends with `.zip`.
    /// - Returns: The archive's path.
    @discardableResult
    public func compress(workspaceId: String, nodes: [String], to archive: String) async throws -> String {
        let operations = try operations()
        return try await operations.call { try await operations.compress(workspaceId, nodes, to: archive) }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func compress(
        workspaceId: String, nodes: [String], to archive: String, success: @escaping (String) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.compress(workspaceId: workspaceId, nodes: nodes, to: archive) }
    }

    /// Extracts a zip archive into a folder, on the server. Fails if the folder already contains an entry with the name
    /// of one in the archive.
    ///
    /// - Parameter folder: An existing folder outside of the archive.
    /// - Returns: The new paths of the files and folders at the top of the archive.
    @discardableResult
    public func extract(workspaceId: String, archive: String, into folder: String) async throws -> [String] {
        let operations = try operations()
        return try await operations.call { try await operations.extract(workspaceId, archive, into: folder) }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func extract(
        workspaceId: String, archive: String, into folder: String, success: @escaping ([String]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.extract(workspaceId: workspaceId, archive: archive, into: folder) }
    }
}

extension OperationsClient {
    fileprivate func compress(_ workspaceId: String, _ nodes: [String], to archive: String) async throws -> String {
        let (folder, name) = NodeName.split(NodeName.stored(path: archive))
        guard name.lowercased().hasSuffix(".zip"), !nodes.isEmpty,
            nodes.allSatisfy({ NodeName.split($0).folder.isExactly(folder) })
        else {
            throw PydioError(
                .invalidArgument,
                "an archive needs a name that ends with .zip, and nodes of the folder that it will be in; nothing was sent"
            )
        }
        let target = (folder == "/" ? "/" : folder + "/") + name
        // Servers would replace an existing node.
        guard try await value(of: .stat(workspaceId: workspaceId, path: target), .stat) == nil else {
            throw PydioError(.file, "\(target) already exists, and was left alone")
        }
        _ = try await value(
            of: .editing(
                "compress", workspaceId,
                ["nodes": .list(nodes), "archive_name": .text(name), "dir": .text(folder)]), .done(.compression))
        guard try await value(of: .stat(workspaceId: workspaceId, path: target), .stat) != nil else {
            throw PydioError(
                .receivedNotExpectedAnswer,
                "the server has accepted to make \(target), but it is not there: it may still be at work")
        }
        return target
    }

    fileprivate func extract(_ workspaceId: String, _ archive: String, into folder: String) async throws -> [String] {
        // Servers present an archive as a folder, and unpack nodes copied out of it.
        let packed = try await listed(archive, in: workspaceId)
        guard !packed.isEmpty else {
            throw PydioError(
                .errorResponse, "the server finds nothing in \(archive): it is empty, or no zip archive")
        }
        let names = Set(packed.map(\.name))
        // Servers would replace existing nodes.
        if let taken = try await listed(folder, in: workspaceId).first(where: { names.contains($0.name) }) {
            throw PydioError(.file, "\(taken.path) already exists, and was left alone: nothing was unpacked")
        }
        _ = try await value(
            of: .editing("copy", workspaceId, ["nodes": .list(packed.map(\.path)), "dest": .text(folder)]),
            .success(of: "copy"))
        let unpacked = try await listed(folder, in: workspaceId).filter { names.contains($0.name) }
        guard unpacked.count == names.count else {
            throw PydioError(
                .receivedNotExpectedAnswer,
                "the server says that it has unpacked \(archive), but not everything is in \(folder)")
        }
        return unpacked.map(\.path)
    }

    /// Returns the entries of a folder. A path that leads elsewhere is an error.
    private func listed(_ folder: String, in workspaceId: String) async throws -> [(path: String, name: String)] {
        let params = ListNodesRequestParams(workspaceId: workspaceId, path: folder)
        // In the form in which an entry's folder is written.
        let expected = NodeName.split(folder == "/" ? "/x" : folder + "/x").folder
        return try await (allPages(params)?.children ?? []).map { node in
            let (place, name) = NodeName.split(node.fullPath)
            guard place.isExactly(expected), !name.isEmpty, name != ".", name != ".." else {
                throw PydioError(
                    .receivedNotExpectedAnswer, "the server lists nodes in \(folder) that are not there")
            }
            return (node.fullPath, name)
        }
    }
}
