public import MatrixSDK

/// Callback variants: the session's life cycle.
extension MXSession {
    /// `setStore(_:)` with a callback.
    public func setStore(_ store: any MXStore, completion: @escaping (MXResponse<Void>) -> Void) {
        _ = matrixRestClient.operation(completion, queuedStore(store))
    }

    /// `start(withSyncFilterId:)` with a callback, which is always called once.
    @discardableResult
    public func start(
        withSyncFilterId filterId: String? = nil, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        matrixRestClient.operation(completion, queuedStart(withSyncFilterId: filterId))
    }

    /// Resumes syncing.
    ///
    /// - Parameter done: Called when the session is up to date, or cannot be.
    public func resume(_ done: (() -> Void)? = nil) {
        _ = matrixRestClient.operation({ (_: MXResponse<Void>) in done?() }, queuedStart())
    }

    /// `backgroundSync(timeout:)` with a callback.
    @discardableResult
    public func backgroundSync(
        timeout: TimeInterval = 30, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        matrixRestClient.operation(completion, queuedBackgroundSync(timeout: timeout))
    }

    /// `logout()` with a callback.
    @discardableResult
    public func logout(completion: @escaping (MXResponse<Void>) -> Void) -> MXHTTPOperation {
        matrixRestClient.operation(completion, queuedLogout())
    }
}
