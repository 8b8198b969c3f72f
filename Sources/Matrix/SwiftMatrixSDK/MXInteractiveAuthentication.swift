public import MatrixSDK

/// With a callback: answering what a server asks for.
extension MXInteractiveChallenge {
    /// `submit(_:)` with a callback.
    @discardableResult
    public func submit(
        _ stage: MXAuthenticationStage, completion: @escaping (MXResponse<MXInteractiveStep<Value>>) -> Void
    ) -> MXHTTPOperation {
        client.operation(completion) { try await self.submit(stage) }
    }
}
