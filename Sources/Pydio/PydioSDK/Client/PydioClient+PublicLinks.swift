import PydioProtocol

extension PydioClient {
    /// Returns the public links of a file or folder.
    ///
    /// If there are several links, servers only describe the first. From version 7 on, servers answer with an error
    /// message if there are none.
    public func publicLinks(workspaceId: String, path: String) async throws -> [PydioPublicLink] {
        let operations = try operations()
        return try await operations.call { try await operations.links(of: path, in: workspaceId) }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func publicLinks(
        workspaceId: String, path: String, success: @escaping ([PydioPublicLink]) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.publicLinks(workspaceId: workspaceId, path: path) }
    }

    /// Changes a public link; its address stays the same.
    ///
    /// Servers before version 7 cannot remove an expiry or a download limit: this then fails with
    /// ``PydioError/Code-swift.enum/unsupportedOperation``, before it changes anything.
    ///
    /// - Parameter linkId: The link's ``PydioPublicLink/linkId``. If there are several links, servers from version 7 on
    ///   only change the first.
    /// - Returns: The link as the server describes it afterwards: it may have limited the changes.
    @discardableResult
    public func changePublicLink(
        workspaceId: String, path: String, linkId: String, changes: PublicLinkChanges
    ) async throws -> PydioPublicLink {
        let operations = try operations()
        return try await operations.call {
            try await operations.changeLink(linkId, of: path, in: workspaceId, changes)
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func changePublicLink(
        workspaceId: String, path: String, linkId: String, changes: PublicLinkChanges,
        success: @escaping (PydioPublicLink) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.changePublicLink(workspaceId: workspaceId, path: path, linkId: linkId, changes: changes)
        }
    }

    /// Revokes one public link of a file or folder; others stay.
    ///
    /// - Parameter linkId: The link's ``PydioPublicLink/linkId``.
    public func revokePublicLink(workspaceId: String, path: String, linkId: String) async throws {
        let operations = try operations()
        try await operations.call { try await operations.revokeLink(linkId, of: path, in: workspaceId) }
    }

    /// Like the `async` form, but with blocks.
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
    /// Returns a node's links. Servers of version 5.2.5 give an empty answer about a link, and only describe the
    /// workspace that they have created for it.
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
        // For an unknown element, servers revoke another link, or all of them. From version 7 on they also accept the
        // link's name, even for links that they don't describe, and report no error for a missing one.
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

    /// Returns a link; `nil` if there is none, even if the server reports an error for a node that is not shared.
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
    /// - Parameter linkId: The link that servers before version 7 then describe instead of the first one.
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
