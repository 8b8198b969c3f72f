import ArgumentParser
import CommandKit
import PusherHTTP
import PusherMockServer
import PusherSwift

/// The server under test, for subscribers and publishers.
struct LoadTarget: Sendable {
    /// The name for messages.
    let name: String
    let key: String
    let options: PusherClientOptions
    let api: PusherHTTPClient

    /// Creates a target for a server elsewhere.
    ///
    /// - Parameter channels: The channels under load, or one of them.
    init(_ connection: ConnectionOptions, appID: String?, channels: [String]) throws {
        var settings = try connection.settings()
        settings.appID = appID ?? settings.appID
        try settings.requirePublishing(on: channels)
        key = settings.key ?? ""
        options = try connection.clientOptions(settings)
        api = try settings.httpClient()
        settings.announce("publishing to", verbose: connection.verbose)
        name = String(Pusher(key: key, options: options).connection.url.prefix { $0 != "?" })
    }

    /// Creates a target for a mock server in this process, without a limit for client events and without a log.
    private init(embedded server: PusherMockServer) {
        key = PusherMockServer.App.defaultKey
        var options = PusherClientOptions(
            authMethod: .inline(secret: PusherMockServer.App.defaultSecret), host: .host(server.host),
            port: server.port, useTLS: false)
        options.proxy = ""  // directly to this process, whatever the environment says
        options.encryptionMasterKey = Self.encryptionMasterKey
        self.options = options
        api = PusherHTTPClient(
            appID: PusherMockServer.App.defaultID, key: key, secret: PusherMockServer.App.defaultSecret,
            host: server.host, port: server.port, useTLS: false, proxy: "",
            encryptionMasterKey: Self.encryptionMasterKey)
        name = "embedded: a mock server in this process, on \(server.host):\(server.port)"
    }

    /// This key protects nothing.
    private static let encryptionMasterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    /// Runs the work with a mock server in this process.
    static func withEmbedded<Result: Sendable>(
        _ work: (LoadTarget) async throws -> Result
    ) async throws -> Result {
        let server: PusherMockServer
        do {
            let app = PusherMockServer.App(encryptionMasterKey: encryptionMasterKey)
            server = try await PusherMockServer.start(PusherMockServer.Configuration(apps: [app], historyLimit: 0))
        } catch {
            throw CommandFailure(.unavailable, "\(error)")
        }
        do {
            let result = try await work(LoadTarget(embedded: server))
            await server.stop()
            return result
        } catch {
            await server.stop()
            throw error
        }
    }
}
