import ArgumentParser
import Foundation
import PusherSwift

/// Where the server is and how to be let in: the same for every command that connects.
struct ConnectionOptions: ParsableArguments {
    @OptionGroup var credentials: CredentialOptions

    @Option(help: "A cluster of Pusher Channels, such as eu. Default: $PUSHER_CLUSTER.")
    var cluster: String?

    @Option(help: "The server's host; wins over --cluster. Default: $PUSHER_HOST.")
    var host: String?

    @Option(help: "The server's port. Default: $PUSHER_PORT, else 443 with TLS and 80 without.")
    var port: Int?

    @Option(help: "A prefix before /app, for servers behind a reverse proxy.")
    var path: String?

    @Flag(inversion: .prefixedNo, help: "Use TLS.")
    var tls = true

    @Option(help: "A PEM file of certificate authorities to trust instead of the system's.")
    var caFile: String?

    @Option(help: "http://, socks5:// or socks5h:// proxy. Default: $https_proxy, $http_proxy, $all_proxy.")
    var proxy: String?

    @Option(help: "URL that signs for private and presence channels.")
    var authEndpoint: String?

    @Option(help: "A header for the auth endpoint, as 'Name: value'. May be repeated.")
    var authHeader: [String] = []

    @Flag(help: "Log what happens to standard error.")
    var verbose = false

    func validate() throws {
        guard port.map({ (1...65535).contains($0) }) ?? true else { throw ValidationError("--port is 1 to 65535.") }
        for header in authHeader where !header.contains(":") {
            throw ValidationError("--auth-header takes 'Name: value'.")
        }
    }

    /// The key, or wrong use.
    func requireKey() throws -> String { try credentials.requireKey() }

    /// What the client is made with.
    func clientOptions() throws -> PusherClientOptions {
        var options = PusherClientOptions(
            authMethod: try authMethod(), host: pusherHost, port: try port ?? Environment.port(), path: path,
            useTLS: tls)
        options.encryptionMasterKey = credentials.encryptionMasterKeyGiven
        options.caFile = caFile
        options.proxy = proxy
        if verbose { options.logger = StandardError.logger }
        return options
    }

    var pusherHost: PusherHost {
        if let host = host ?? Environment["PUSHER_HOST"] { return .host(host) }
        if let cluster = cluster ?? Environment["PUSHER_CLUSTER"] { return .cluster(cluster) }
        return .defaultHost
    }

    private func authMethod() throws -> AuthMethod {
        if let authEndpoint {
            guard let url = URL(string: authEndpoint), url.host != nil else {
                throw ValidationError("--auth-endpoint is not a URL.")
            }
            return .authRequestBuilder(authRequestBuilder: HeaderRequestBuilder(url: url, headers: authHeader))
        }
        return credentials.secretGiven.map { .inline(secret: $0) } ?? .noMethod
    }
}

/// Asks the auth endpoint with the headers given on the command line.
private struct HeaderRequestBuilder: AuthRequestBuilderProtocol {
    let url: URL
    let headers: [String]

    func requestFor(socketID: String, channelName: String) -> URLRequest? {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        for header in headers {
            let parts = header.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            request.setValue(parts[1].trimmingCharacters(in: .whitespaces), forHTTPHeaderField: String(parts[0]))
        }
        var form = URLComponents()
        form.queryItems = [
            URLQueryItem(name: "socket_id", value: socketID), URLQueryItem(name: "channel_name", value: channelName),
        ]
        request.httpBody = form.percentEncodedQuery.map { Data($0.utf8) }
        return request
    }
}

/// The environment variables that stand in for options; empty ones count as absent.
enum Environment {
    static subscript(name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    static func port() throws -> Int? {
        guard let text = self["PUSHER_PORT"] else { return nil }
        guard let port = Int(text), (1...65535).contains(port) else {
            throw ValidationError("PUSHER_PORT is not a port.")
        }
        return port
    }
}
