import CommandKit
import Foundation
package import PydioSDK

/// The server and user for which commands act.
package struct PydioAccount: Sendable {
    let login: PydioLogin
    package let client: PydioClient
    /// The server, for messages.
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

    /// Runs work in the session, and stores the session for the next command even if the work fails.
    package func working<Value>(_ work: (PydioAccount) async throws -> Value) async throws -> Value {
        defer { keepSession() }
        do {
            return try await work(self)
        } catch let error as PydioError where error.isOfLogin {
            throw Self.failure(error, at: login)
        }
    }

    /// Returns the error, with advice if the login is no longer valid.
    static func failure(_ error: PydioError, at login: PydioLogin) -> CommandFailure {
        let command = "pusher-cli pydio login \(login.server.absoluteString) --user \(login.user)"
        // Without a password, no automatic login is possible.
        let isOver = error.code == .unableToLogin && error.loginResult == nil
        let what = isOver ? "the session has expired, and no password was saved" : "\(error)"
        return CommandFailure(.refused, "\(what): \(command)")
    }

    package func keepSession() {
        var now = login
        now.take(params)
        turns.keep(now.session)
    }

    /// Stores what the next command needs after a change of the password.
    func keepPassword(_ password: String) async throws {
        turns.keepPassword(password)
        guard params.keystoreToken(forServer: login.server) != nil else { return }
        // The key pair belonged to the old password. Without a stored password, the new one is the only way to log in.
        params.setUser(User(userid: login.user, password: password), forServer: login.server)
        do {
            try await client.authorize()
        } catch let error as PydioError where error.code != .cancelled {
            throw CommandFailure(
                error.exitStatus, "the password is changed, but logging in with it failed: \(error)")
        }
    }

    /// Returns the workspaces that contain files.
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

    /// Returns the workspace named by an argument.
    ///
    /// Servers take an unknown id for the workspace that was used last. Therefore only ids that they have listed are
    /// sent.
    func workspace(_ name: String) async throws -> PydioWorkspace {
        try PydioWorkspace.named(name, among: try await workspaces())
    }
}
