public import MatrixSDK

/// Callback variants: the user's devices.
extension MXRestClient {
    /// `devices()` with a callback.
    @discardableResult
    public func devices(completion: @escaping (MXResponse<[MXDevice]>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.devices() }
    }

    /// `device(withId:)` with a callback.
    @discardableResult
    public func device(withId deviceId: String, completion: @escaping (MXResponse<MXDevice>) -> Void) -> MXHTTPOperation
    {
        operation(completion) { try await self.device(withId: deviceId) }
    }

    /// `setDeviceName(_:forDevice:)` with a callback.
    @discardableResult
    public func setDeviceName(
        _ name: String, forDevice deviceId: String, completion: @escaping (MXResponse<Void>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.setDeviceName(name, forDevice: deviceId) }
    }

    /// `deleteDevices(_:)` with a callback.
    @discardableResult
    public func deleteDevices(
        _ deviceIds: [String], completion: @escaping (MXResponse<MXInteractiveStep<Bool>>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { try await self.deleteDevices(deviceIds) }
    }

    /// `deleteDevice(_:)` with a callback.
    @discardableResult
    public func deleteDevice(_ deviceId: String, completion: @escaping (MXResponse<MXInteractiveStep<Bool>>) -> Void)
        -> MXHTTPOperation
    {
        operation(completion) { try await self.deleteDevice(deviceId) }
    }
}
