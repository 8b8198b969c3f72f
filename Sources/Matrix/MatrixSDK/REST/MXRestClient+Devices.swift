import MatrixProtocol

extension MXRestClient {
    /// The user's devices.
    public func devices() async throws -> [MXDevice] {
        try await list("devices", of: APICall(.get, "v3/devices")).compactMap {
            try? JSONDecoder().decode(MXDevice.self, from: $0.data)
        }
    }

    /// One of the user's devices.
    public func device(withId deviceId: String) async throws -> MXDevice {
        try await value(APICall(.get, "v3/devices/\(deviceId)"))
    }

    /// Renames a device.
    public func setDeviceName(_ name: String, forDevice deviceId: String) async throws {
        try await perform(APICall(.put, "v3/devices/\(deviceId)", json: ["display_name": name]))
    }

    /// Logs devices out. The server asks for authentication.
    public func deleteDevices(_ deviceIds: [String]) async throws -> MXInteractiveStep<Bool> {
        try await interactive(APICall(.post, "v3/delete_devices", json: ["devices": deviceIds])) { _ in true }
    }

    /// Logs one device out. The server asks for authentication.
    public func deleteDevice(_ deviceId: String) async throws -> MXInteractiveStep<Bool> {
        try await interactive(APICall(.delete, "v3/devices/\(deviceId)", body: .empty)) { _ in true }
    }
}

/// A client that the user has logged in with.
public struct MXDevice: Sendable, Hashable, Codable {
    /// Chosen at the login.
    public let deviceId: String
    /// For people.
    public let displayName: String?
    /// From where it was last seen.
    public let lastSeenIp: String?
    /// When it was last seen, in milliseconds since 1970.
    public let lastSeenTs: UInt64?

    enum CodingKeys: String, CodingKey {
        case deviceId = "device_id"
        case displayName = "display_name"
        case lastSeenIp = "last_seen_ip"
        case lastSeenTs = "last_seen_ts"
    }
}
