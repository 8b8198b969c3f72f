import PydioProtocol

extension PydioClient {
    /// The public links of a file or folder.
    ///
    /// Of several links, servers describe only the first. Servers from version 7 on answer with an error message if there
    /// are none.
    public func publicLinks(workspaceId: String, path: String) async throws -> [PydioPublicLink] {
        let operations = try operations()
        return try await operations.call { try await operations.links(of: path, in: workspaceId) }
    }

    /// The same with blocks.
    @discardableResult
    public func publicLinks(
        workspaceId: String, path: String, success: @escaping ([PydioPublicLink]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.publicLinks(workspaceId: workspaceId, path: path) }
    }

    /// Changes a public link; its address stays the same.
    ///
    /// Servers before version 7 cannot remove an expiry or a limit of downloads: this then fails with
    /// ``PydioError/Code-swift.enum/unsupportedOperation``, before anything is changed.
    ///
    /// - Parameter linkId: ``PydioPublicLink/linkId``. Of several links, servers from version 7 on only change the first.
    /// - Returns: The link as the server describes it afterwards: it may have bounded the changes.
    @discardableResult
    public func changePublicLink(
        workspaceId: String, path: String, linkId: String, changes: PublicLinkChanges
    ) async throws -> PydioPublicLink {
        let operations = try operations()
        return try await operations.call {
            try await operations.changeLink(linkId, of: path, in: workspaceId, changes)
        }
    }

    /// The same with blocks.
    @discardableResult
    public func changePublicLink(
        workspaceId: String, path: String, linkId: String, changes: PublicLinkChanges,
        success: @escaping (PydioPublicLink) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.changePublicLink(workspaceId: workspaceId, path: path, linkId: linkId, changes: changes)
        }
    }

    /// Makes one public link of a file or folder stop working; others stay.
    ///
    /// - Parameter linkId: ``PydioPublicLink/linkId``
    public func revokePublicLink(workspaceId: String, path: String, linkId: String) async throws {
        let operations = try operations()
        try await operations.call { try await operations.revokeLink(linkId, of: path, in: workspaceId) }
    }

    /// The same with blocks.
    @discardableResult
    public func revokePublicLink(
        workspaceId: String, path: String, linkId: String, success: @escaping () -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start({ _ in success() }, failure) {
            try await self.revokePublicLink(workspaceId: workspaceId, path: path, linkId: linkId)
        }
    }
}

extension OperationsClient {
    /// Servers of version 5.2.5 have an empty answer about a link, and describe only the workspace that they have made for
    /// it.
    fileprivate func links(
        of path: String, in workspaceId: String, linkId: String? = nil
    ) async throws -> [PydioPublicLink] {
        do {
            return try await value(of: .publicLinks(workspaceId, path, linkId: linkId), .publicLinks)
        } catch let error as PydioError where error.code == .receivedNotExpectedAnswer && error.excerpt?.isEmpty ?? true
        {
            return try await value(
                of: .publicLinks(workspaceId, path, linkId: linkId, elementType: "repository"), .publicLinks)
        }
    }

    fileprivate func changeLink(
        _ id: String, of path: String, in workspaceId: String, _ changes: PublicLinkChanges
    ) async throws -> PydioPublicLink {
        let link = try await existingLink(id, of: path, in: workspaceId)
        var request = PydioRequest.editing("share", workspaceId, try changes.parameters(of: link, at: path))
        request.secrets = changes.secrets
        _ = try await value(of: request, .publicLink)
        return try await existingLink(id, of: path, in: workspaceId)
    }

    fileprivate func revokeLink(_ id: String, of path: String, in workspaceId: String) async throws {
        let links = try await links(of: path, in: workspaceId, linkId: id)
        let isOfVersion7 = links.contains(where: \.isOfVersion7)
        // Of an element that they don't know, servers end another link, or all of them. From version 7 on they take its
        // name as well, even if they do not describe it, and have no word for one that is not there.
        guard isOfVersion7 || links.contains(where: { $0.linkId == id }) else { throw Self.noLink }
        var parameters: [String: PydioParameter] = ["file": .text(path), "element_type": "minisite"]
        parameters[isOfVersion7 ? "hash" : "element_id"] = .text(id)
        let answer = try await value(
            of: .editing("unshare", workspaceId, parameters), .successOrNothing(of: "unshare"))
        guard answer.message != nil || links.contains(where: { $0.linkId == id }) else { throw Self.noLink }
        guard try await self.link(id, of: path, in: workspaceId) == nil else {
            throw PydioError(.receivedNotExpectedAnswer, "the server does not end the link; it still works")
        }
    }

    private static let noLink = PydioError(
        .invalidArgument,
        "the server describes no public link of this name; of several, it may describe only the first; nothing was changed"
    )

    private func existingLink(_ id: String, of path: String, in workspaceId: String) async throws -> PydioPublicLink {
        let links = try await links(of: path, in: workspaceId, linkId: id)
        guard let link = links.first(where: { $0.linkId == id }) else { throw Self.noLink }
        return link
    }

    /// Nil, too, if the server has words of its own for a node that is not shared.
    private func link(_ id: String, of path: String, in workspaceId: String) async throws -> PydioPublicLink? {
        do {
            return try await links(of: path, in: workspaceId, linkId: id)
                .first { $0.linkId == id }
        } catch let error as PydioError where error.code == .errorResponse {
            return nil
        }
    }
}

extension PydioRequest {
    /// - Parameter linkId: Servers before version 7 then describe this link, and not the first one.
    fileprivate static func publicLinks(
        _ workspaceId: String, _ path: String, linkId: String? = nil, elementType: String = "minisite"
    ) -> PydioRequest {
        var parameters: [String: PydioParameter] = [
            "tmp_repository_id": .text(workspaceId), "file": .text(path), "element_type": .text(elementType),
        ]
        parameters["hash"] = linkId.map { .text($0) }
        return PydioRequest(.get, "load_shared_element_data", parameters)
    }
}
