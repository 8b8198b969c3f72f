import PydioProtocol

extension PydioClient {
    /// Sends a request to the REST interface, signed with the user's key pair: for what has no call of its own, such as
    /// version 2 of it, which servers have from 7 on.
    ///
    ///     var request = PydioRESTRequest(.get, "v2/fs/my-files/docs")
    ///     request.parameters["children"] = "df"
    ///     let answer = try await client.rest(request)
    ///
    /// Servers without key pairs, which begin with version 6, fail with
    /// ``PydioError/Code-swift.enum/unsupportedOperation``. An empty answer counts as one, too: servers give it to what they
    /// do not know. Answers are bounded by ``PydioClientOptions/maximumResponseSize``.
    @discardableResult
    public func rest(_ request: PydioRESTRequest) async throws -> PydioRESTResponse {
        try await call(request.request, request.recogniser)
    }

    /// The same with blocks.
    @discardableResult
    public func rest(
        _ request: PydioRESTRequest, success: @escaping (PydioRESTResponse) -> Void,
        failure: @escaping (PydioError) -> Void
    ) -> PydioOperation {
        start(success, failure) { try await self.rest(request) }
    }
}
