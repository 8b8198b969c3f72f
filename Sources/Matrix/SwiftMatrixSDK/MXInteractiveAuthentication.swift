public import MatrixSDK

/// Callback variant of answering an authentication challenge.
extension MXInteractiveChallenge {
    /// `submit(_:)` with a callback.
    @discardableResult
    public func submit(
        _ stage: MXAuthenticationStage, completion: @escaping (MXResponse<MXInteractiveStep<Value>>) -> Void
    ) -> MXHTTPOperation {
        client.operation(completion) { try await self.submit(stage) }
    }
}
