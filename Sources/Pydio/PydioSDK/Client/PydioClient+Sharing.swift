public import Foundation
import PydioProtocol

extension PydioClient {
    /// Creates a public link: an address at which anyone can see and download a file or folder without logging in.
    ///
    /// Servers may limit its lifetime and number of uses, and may require a password. If the server refuses, the call
    /// retries once a second later: servers of version 5.2 cannot create two links within one second.
    public func createPublicLink(_ params: PublicLinkRequestParams) async throws -> URL {
        var request = PydioRequest(.post, "share", params)
        request.secrets = params.password.map { [$0] } ?? []
        do {
            return try await call(request, .publicLink)
        } catch let error as PydioError where error.code == .errorResponse {
            // Random, so that callers refused in one second don't all collide in the next. A cancelled sleep ends
            // early; the call then throws.
            try? await Task.sleep(for: .milliseconds(Int.random(in: 1000...2000)))
            return try await call(request, .publicLink)
        }
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func createPublicLink(
        _ params: PublicLinkRequestParams, success: @escaping (URL) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.createPublicLink(params) }
    }

    /// Returns the server's data about how a node is shared, as JSON. Its members differ between versions.
    ///
    /// - Parameter elementType: The type, such as `file`, `minisite` or `repository`.
    public func loadSharedElementData(workspaceId: String, path: String, elementType: String) async throws -> Data {
        let request = PydioRequest(
            .get, "load_shared_element_data",
            ["tmp_repository_id": .text(workspaceId), "file": .text(path), "element_type": .text(elementType)])
        return try await call(request, .json(of: "the request for how a node is shared"))
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func loadSharedElementData(
        workspaceId: String, path: String, elementType: String, success: @escaping (Data) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.loadSharedElementData(workspaceId: workspaceId, path: path, elementType: elementType)
        }
    }

    /// Shares nodes with the parameters of the server's version, such as `sub_action`, `expiration` or `downloadlimit`.
    ///
    /// - Returns: The server's unmodified answer: text, XML or JSON.
    public func share(workspaceId: String, nodes: [String], parameters: [String: PydioParameter]) async throws -> Data {
        // Older servers expect one node, under this name only.
        let selection: [String: PydioParameter] = nodes.count == 1 ? ["file": .text(nodes[0])] : ["nodes": .list(nodes)]
        let request = PydioRequest.editing("share", workspaceId, parameters.merging(selection) { $1 })
        return try await call(request, .shareAnswer)
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func share(
        workspaceId: String, nodes: [String], parameters: [String: PydioParameter], success: @escaping (Data) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.share(workspaceId: workspaceId, nodes: nodes, parameters: parameters)
        }
    }

    /// Ends the sharing of a node. Servers before version 7 end one of its shares at a time, and some send an empty
    /// answer whether or not there was one: call ``loadSharedElementData(workspaceId:path:elementType:)`` to see the
    /// remaining shares.
    ///
    /// - Parameters:
    ///   - elementType: As in ``loadSharedElementData(workspaceId:path:elementType:)``.
    ///   - elementId: The share to end; `nil` if the server's version has no such id.
    @discardableResult
    public func unshare(workspaceId: String, path: String, elementType: String, elementId: String? = nil) async throws
        -> PydioSuccessResponse
    {
        var parameters: [String: PydioParameter] = ["file": .text(path), "element_type": .text(elementType)]
        parameters["element_id"] = elementId.map { .text($0) }
        return try await call(.editing("unshare", workspaceId, parameters), .successOrNothing(of: "unshare"))
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func unshare(
        workspaceId: String, path: String, elementType: String, elementId: String? = nil,
        success: @escaping (PydioSuccessResponse) -> Void, failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) {
            try await self.unshare(workspaceId: workspaceId, path: path, elementType: elementType, elementId: elementId)
        }
    }
}

extension AnswerRecogniser where Value == Data {
    /// An answer to a sharing request: anything but a page, since versions differ.
    static let shareAnswer = Self("share") { body in
        let isPage = body.document == nil && body.text.hasPrefix("<")
        let isDamaged = body.document != nil && body.root == nil
        return isPage || isDamaged ? .other : .value(Data(body.bytes))
    }
}
