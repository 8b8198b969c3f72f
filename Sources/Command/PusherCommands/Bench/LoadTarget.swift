import ArgumentParser
import CommandKit
import PusherHTTP
import PusherMockServer
import PusherSwift

/// The server that a load test is run against, from both sides.
struct LoadTarget: Sendable {
    /// For people.
    let name: String
    let key: String
    let options: PusherClientOptions
    let api: PusherHTTPClient

    /// A server somewhere else.
    ///
    /// - Parameter channels: Those that are under load, or one of them.
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

    /// A mock server of this process, which knows no limit to client events and keeps no log.
    private init(embedded server: PusherMockServer) {
        key = PusherMockServer.App.defaultKey
        var options = PusherClientOptions(
            authMethod: .inline(secret: PusherMockServer.App.defaultSecret), host: .host(server.host),
            port: server.port, useTLS: false)
        options.proxy = ""  // straight to this process, whatever the environment says
        options.encryptionMasterKey = Self.encryptionMasterKey
        self.options = options
        api = PusherHTTPClient(
            appID: PusherMockServer.App.defaultID, key: key, secret: PusherMockServer.App.defaultSecret,
            host: server.host, port: server.port, useTLS: false, proxy: "",
            encryptionMasterKey: Self.encryptionMasterKey)
        name = "embedded: a mock server in this process, on \(server.host):\(server.port)"
    }

    /// It protects nothing.
    private static let encryptionMasterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    /// Does the work on a mock server of this process.
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
