import MatrixProtocol

extension MXRestClient {
    /// Returns the user's devices.
    public func devices() async throws -> [MXDevice] {
        try await list("devices", of: APICall(.get, "v3/devices")).compactMap {
            try? JSONDecoder().decode(MXDevice.self, from: $0.data)
        }
    }

    /// Returns one of the user's devices.
    public func device(withId deviceId: String) async throws -> MXDevice {
        try await value(APICall(.get, "v3/devices/\(deviceId)"))
    }

    /// Renames a device.
    public func setDeviceName(_ name: String, forDevice deviceId: String) async throws {
        try await perform(APICall(.put, "v3/devices/\(deviceId)", json: ["display_name": name]))
    }

    /// Logs out devices. The server requires authentication.
    public func deleteDevices(_ deviceIds: [String]) async throws -> MXInteractiveStep<Bool> {
        try await interactive(APICall(.post, "v3/delete_devices", json: ["devices": deviceIds])) { _ in true }
    }

    /// Logs out a device. The server requires authentication.
    public func deleteDevice(_ deviceId: String) async throws -> MXInteractiveStep<Bool> {
        try await interactive(APICall(.delete, "v3/devices/\(deviceId)", body: .empty)) { _ in true }
    }
}

/// A client with which the user has logged in.
public struct MXDevice: Sendable, Hashable, Codable {
    /// The id chosen at login.
    public let deviceId: String
    /// The human-readable name.
    public let displayName: String?
    /// The IP address the device last used.
    public let lastSeenIp: String?
    /// The time the device was last seen, in milliseconds since 1970.
    public let lastSeenTs: UInt64?

    enum CodingKeys: String, CodingKey {
        case deviceId = "device_id"
        case displayName = "display_name"
        case lastSeenIp = "last_seen_ip"
        case lastSeenTs = "last_seen_ts"
    }
}
