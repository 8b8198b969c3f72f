import PydioProtocol

extension PydioClient {
    /// Sends a request to the REST interface, signed with the user's key pair. Use it for requests without a dedicated
    /// call, such as version 2 of the interface, which servers have from version 7 on.
    ///
    ///     var request = PydioRESTRequest(.get, "v2/fs/my-files/docs")
    ///     request.parameters["children"] = "df"
    ///     let answer = try await client.rest(request)
    ///
    /// Fails with ``PydioError/Code-swift.enum/unsupportedOperation`` on a server without key pairs, which exist from
    /// version 6 on. An empty answer is a success: servers send it for unknown requests.
    /// ``PydioClientOptions/maximumResponseSize`` limits answers.
    @discardableResult
    public func rest(_ request: PydioRESTRequest) async throws -> PydioRESTResponse {
        try await call(request.request, request.recogniser)
    }

    /// Like the `async` form, but with blocks.
    @discardableResult
    public func rest(
        _ request: PydioRESTRequest, success: @escaping (PydioRESTResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.rest(request) }
    }
}
