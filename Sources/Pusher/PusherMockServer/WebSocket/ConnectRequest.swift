/// The path and query of a WebSocket upgrade, validated against the served applications.
///
/// Pusher protocol, "Websocket connection": `/app/{key}?protocol=7&client=…&version=…`.
struct ConnectRequest {
    static let servedVersions = 4...7

    let appKey: String
    let protocolVersion: Int

    /// A refusal that the client receives as `pusher:error` and as close code.
    struct Refusal: Error, Hashable {
        let code: Int
        let message: String
    }

    init(
        target: RequestTarget, isSecure: Bool, configuration: PusherMockServer.Configuration
    ) throws(Refusal) {
        guard let key = Self.appKey(in: target, configuration: configuration) else {
            throw Refusal(code: 4005, message: "Path not found")
        }
        protocolVersion = try Self.protocolVersion(in: target, configuration: configuration)
        if configuration.profile.checksVersions, let version = target.parameter("version"), !Self.isVersion(version) {
            throw Refusal(code: 4006, message: "Invalid version string format")
        }
        guard let app = configuration.apps.first(where: { $0.key == key }) else {
            throw Refusal(
                code: 4001,
                message: "App key \(key.prefix(100)) not in this cluster. Did you forget to specify the cluster?")
        }
        guard app.isEnabled else { throw Refusal(code: 4003, message: "Application disabled") }
        guard !app.requiresTLS || isSecure else {
            throw Refusal(code: 4000, message: "Application only accepts SSL connections, reconnect using wss://")
        }
        appKey = key
    }

    /// Returns the key that a path names, whether it is served or not.
    static func appKey(in target: RequestTarget, configuration: PusherMockServer.Configuration) -> String? {
        let start = configuration.pathPrefix + "/app/"
        guard target.path.hasPrefix(start) else { return nil }
        let key = target.path.dropFirst(start.count)
        guard !key.isEmpty, !key.contains("/") else { return nil }
        return String(key).removingPercentEscapes
    }

    private static func protocolVersion(
        in target: RequestTarget, configuration: PusherMockServer.Configuration
    ) throws(Refusal) -> Int {
        guard let text = target.parameter("protocol") else {
            guard !(configuration.requiresProtocolVersion ?? configuration.profile.checksVersions) else {
                throw Refusal(code: 4008, message: "No protocol version supplied")
            }
            return servedVersions.upperBound
        }
        guard configuration.profile.checksVersions else { return servedVersions.upperBound }
        guard let version = Int(text), servedVersions.contains(version) else {
            throw Refusal(code: 4007, message: "Unsupported protocol version: \(text.prefix(20))")
        }
        return version
    }

    /// Returns whether the text is `1`, `1.2`, `1.2.3` or `1.2.3.4`, with an optional suffix that starts with `-` or
    /// `+`.
    private static func isVersion(_ text: String) -> Bool {
        let core = text.prefix { $0 != "-" && $0 != "+" }
        let numbers = core.split(separator: ".", omittingEmptySubsequences: false)
        return (1...4).contains(numbers.count)
            && numbers.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
            && text.utf8.count <= 100
    }
}
