public import JSONBytes
import MatrixProtocol

extension MXRestClient {
    /// Finds the homeserver of a server name (client-server specification, "Server Discovery").
    ///
    /// - Parameter serverName: The part of a user id after the colon, or the whole user id.
    @concurrent
    public static func discoverHomeserver(
        of serverName: String, options: MXRestClientOptions = MXRestClientOptions()
    ) async throws -> MXDiscovery {
        let name = serverName.hasPrefix("@") ? String(serverName.drop { $0 != ":" }.dropFirst()) : serverName
        return try await discoverHomeserver(at: "https://" + name, options: options)
    }

    /// - Parameter base: The URL of the server name's site.
    @concurrent
    package static func discoverHomeserver(at base: String, options: MXRestClientOptions) async throws -> MXDiscovery {
        guard MXWellKnown.isUsable(base), let url = URL(string: base) else {
            throw MatrixError(.invalidArgument, "this is not the name of a server")
        }
        let found: MXWellKnown
        do {
            found = try await MXRestClient(homeServer: url, options: options).wellKnown()
        } catch let error where error.isCancellation {
            throw error
        } catch let error where error.isNotFound {
            found = MXWellKnown(homeserver: base)
        } catch {
            return .failPrompt
        }
        guard let address = found.homeserver, MXWellKnown.isUsable(address), let homeserver = URL(string: address)
        else {
            return .failPrompt
        }
        let client = MXRestClient(homeServer: homeserver, options: options)
        do {
            return .found(found, try await client.supportedVersions())
        } catch let error where error.isCancellation {
            throw error
        } catch {
            return .failError
        }
    }

    /// Returns what the site at this client's address publishes about its homeserver.
    public func wellKnown() async throws -> MXWellKnown {
        var call = APICall(.get, "/.well-known/matrix/client", authorization: .none)
        call.maximumAnswerSize = 1 << 16
        call.followsRedirects = true
        return MXWellKnown(try await json(call))
    }

    /// Returns the versions and features the server supports.
    public func supportedVersions() async throws -> MXMatrixVersions {
        try await value(APICall(.get, "versions", authorization: .optional))
    }

    /// Returns what the server lets the user do: the members of its `capabilities`.
    public func capabilities() async throws -> JSONView {
        let call = APICall(.get, "v3/capabilities")
        guard let capabilities = try await json(call)["capabilities"] else { throw Self.unexpected(call) }
        return capabilities
    }
}

/// The result of homeserver discovery.
public enum MXDiscovery: Sendable {
    /// The homeserver, and the versions it supports.
    case found(MXWellKnown, MXMatrixVersions)
    /// Nothing usable was found; ask the user for the homeserver's address (`FAIL_PROMPT`).
    case failPrompt
    /// The site names a homeserver that does not answer as one; do not continue (`FAIL_ERROR`).
    case failError
}

/// The information a site publishes about its homeserver.
public struct MXWellKnown: Sendable, Hashable {
    /// The base URL without a trailing slash; `nil` if the site names no homeserver.
    public let homeserver: String?
    /// The identity server's base URL.
    public let identityServer: String?

    init(homeserver: String) {
        self.homeserver = homeserver
        identityServer = nil
    }

    init(_ json: JSONView) {
        homeserver = json["m.homeserver"]?["base_url"]?.string.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
        identityServer = json["m.identity_server"]?["base_url"]?.string
    }

    static func isUsable(_ url: String) -> Bool {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased() else { return false }
        return (scheme == "https" || scheme == "http") && parts.host?.isEmpty == false && parts.query == nil
    }
}

/// The versions and features a server supports.
public struct MXMatrixVersions: Sendable, Hashable, Codable {
    /// Supported versions, such as `v1.11`.
    public let versions: [String]
    /// Supported features that are not in the specification yet.
    public let unstableFeatures: [String: Bool]?

    enum CodingKeys: String, CodingKey {
        case versions
        case unstableFeatures = "unstable_features"
    }

    /// Whether downloading media requires the token.
    var hasAuthenticatedMedia: Bool {
        unstableFeatures?["org.matrix.msc3916.stable"] == true
            || versions.contains { version in
                let parts = version.dropFirst().split(separator: ".").compactMap { Int($0) }
                return version.hasPrefix("v") && parts.count == 2 && (parts[0] > 1 || parts[0] == 1 && parts[1] >= 11)
            }
    }
}

extension Error {
    /// Whether the client itself cancelled the operation.
    var isCancellation: Bool { self is CancellationError || (self as? MatrixError)?.code == .cancelled }

    /// Whether the server reports that it does not exist, in any form.
    var isNotFound: Bool {
        (self as? MXError)?.status == 404 || (self as? MatrixError)?.code == .http(status: 404)
    }
}
