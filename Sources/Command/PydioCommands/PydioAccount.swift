import CommandKit
import Foundation
package import PydioSDK

/// The server and the user that commands act for.
package struct PydioAccount: Sendable {
    let login: PydioLogin
    package let client: PydioClient
    /// The server, for people.
    var serverName: String { login.server.serverName ?? "the server" }
    private let params: ServersParamsManager
    private let turns: AccountTurns

    package init(_ login: PydioLogin, options: PydioClientOptions) {
        self.login = login
        turns = AccountTurns(login)
        params = login.makeParams()
        var options = options
        options.loginTurns = turns
        client = PydioClient(server: login.server, params: params, options: options)
    }

    /// Does work in the session, and keeps that for the next command, also if the work fails.
    package func working<Value>(_ work: (PydioAccount) async throws -> Value) async throws -> Value {
        defer { keepSession() }
        do {
            return try await work(self)
        } catch let error as PydioError where error.isOfLogin {
            throw Self.failure(error, at: login)
        }
    }

    /// What helps if the login is dead.
    static func failure(_ error: PydioError, at login: PydioLogin) -> CommandFailure {
        let command = "pusher-cli pydio login \(login.server.absoluteString) --user \(login.user)"
        // Without a password there is nobody who could log in by himself.
        let isOver = error.code == .unableToLogin && error.loginResult == nil
        let what = isOver ? "the session has expired, and no password was saved" : "\(error)"
        return CommandFailure(.refused, "\(what): \(command)")
    }

    package func keepSession() {
        var now = login
        now.take(params)
        turns.keep(now.session)
    }

    /// The user has another password from now on: what the next command needs is kept.
    func keepPassword(_ password: String) async throws {
        turns.keepPassword(password)
        guard params.keystoreToken(forServer: login.server) != nil else { return }
        // The pair was good for the old one. Without a password to be kept, the new one is all there is to log in with.
        params.setUser(User(userid: login.user, password: password), forServer: login.server)
        do {
            try await client.authorize()
        } catch let error as PydioError where error.code != .cancelled {
            throw CommandFailure(
                error.exitStatus, "the password is changed, but logging in with it failed: \(error)")
        }
    }

    /// Those that hold files.
    package func workspaces() async throws -> [PydioWorkspace] {
        let workspaces = try await client.listWorkspaces().filter(\.isFileStore)
        if workspaces.isEmpty {
            StandardError.write(
                """
                warning: \(login.user) may open no workspace on \(login.server.absoluteString): an administrator can \
                change that; if the server wants a new password first, a browser shows it
                """)
        }
        return workspaces.map { PydioWorkspace($0, client) }
    }

    /// The one that an argument names.
    ///
    /// Servers take an id that they do not know for the workspace that was used last, so that none is sent that they have
    /// not listed.
    func workspace(_ name: String) async throws -> PydioWorkspace {
        try PydioWorkspace.named(name, among: try await workspaces())
    }
}
