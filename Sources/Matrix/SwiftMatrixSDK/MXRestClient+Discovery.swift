public import MatrixSDK

/// Callback variants: discovery and capabilities of a server.
extension MXRestClient {
    /// `discoverHomeserver(of:options:)` with a callback on the main queue.
    @discardableResult
    public static func discoverHomeserver(
        of serverName: String, options: MXRestClientOptions = MXRestClientOptions(),
        completion: @escaping (MXResponse<MXDiscovery>) -> Void
    ) -> MXHTTPOperation {
        MXHTTPOperation.start(in: CompletionLine(), completion) {
            try await discoverHomeserver(of: serverName, options: options)
        }
    }

    /// `wellKnown()` with a callback.
    @discardableResult
    public func wellKnown(completion: @escaping (MXResponse<MXWellKnown>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.wellKnown() }
    }

    /// `supportedVersions()` with a callback.
    @discardableResult
    public func supportedVersions(completion: @escaping (MXResponse<MXMatrixVersions>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.supportedVersions() }
    }

    /// `capabilities()` with a callback.
    @discardableResult
    public func capabilities(completion: @escaping (MXResponse<JSONView>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.capabilities() }
    }
}
