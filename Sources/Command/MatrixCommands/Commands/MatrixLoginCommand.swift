import ArgumentParser
import CommandKit
import Foundation
import MatrixSDK

struct MatrixLoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Log in to a homeserver, and save the token for the other commands.",
        discussion: """
            Asks for the password at the terminal, and never saves it. The token is saved in \
            $XDG_CONFIG_HOME/pusher-cli/matrix.json, by default in ~/.config/pusher-cli, readable only by you.

            When the homeserver no longer accepts the token but keeps your device, log in again as the same user: the \
            device goes on.

            --add keeps who is logged in and logs in one more account, which pusher-cli matrix chat shows too. The other \
            commands are for the first account.

            Examples:
              pusher-cli matrix login @alice:example.org
              pusher-cli matrix login http://localhost:8008 --user alice
              pusher-cli matrix login https://example.org --sso
            """)

    @Argument(
        help: ArgumentHelp(
            "A user id (its server names the homeserver), a server's name, or a homeserver's URL.",
            valueName: "user-or-server"))
    var account: String

    @Option(help: "The user to log in as, if you give a server: alice, or @alice:example.org.")
    var user: String?

    @Option(help: "The homeserver's URL, if the user's server does not name it.")
    var homeserver: String?

    @Flag(help: "Read the password from standard input.")
    var passwordStdin = false

    @Flag(help: "Read an access token from standard input instead of logging in.")
    var tokenStdin = false

    @Flag(help: "Log in with a browser: prints the address to open, and waits until you come back.")
    var sso = false

    @Option(help: ArgumentHelp("With --sso: which of the server's identity providers to use.", valueName: "id"))
    var identityProvider: String?

    @Option(help: ArgumentHelp("The name to show in your list of devices.", valueName: "name"))
    var deviceName = "pusher-cli"

    @Flag(help: "Log in one more account, for chat.")
    var add = false

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        guard [passwordStdin, tokenStdin, sso].count(where: { $0 }) <= 1 else {
            throw ValidationError("Give only one of --password-stdin, --token-stdin and --sso.")
        }
        guard !isUser || user == nil else { throw ValidationError("--user is for a server, not for a user id.") }
        guard isUser || user != nil || tokenStdin || sso else {
            throw ValidationError("Give a user id, or a server with --user.")
        }
        guard identityProvider == nil || sso else { throw ValidationError("--identity-provider needs --sso.") }
        guard !isUser || account.contains(":") else {
            throw ValidationError("A user id is @name:server.")
        }
        for url in [homeserver, isURL ? account : nil].compactMap({ $0 }) where !Self.isUsable(url) {
            throw ValidationError("A homeserver's URL is https://server, or http:// for one on this machine.")
        }
    }

    private var isUser: Bool { account.hasPrefix("@") }
    private var isURL: Bool { account.contains("://") }

    private static func isUsable(_ text: String) -> Bool {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty, url.query == nil,
            url.user == nil
        else { return false }
        return url.scheme == "https" || url.scheme == "http"
    }

    func run() async throws {
        let file = try fileToBegin
        let old = try await credentialsToReplace(in: file)
        try file.makeFolder()  // before obtaining a token that could not be stored
        StatusLine.wait(for: "the answer of \(askedServer)")
        let client = MXRestClient(homeServer: try await homeserverURL(), options: try MXRestClientOptions(network))
        if let old, old.homeServer != client.homeserverURL { throw isLoggedIn(file, old.userId) }
        guard let credentials = try await logIn(client, as: old?.deviceId) else {
            throw CommandFailure(.interrupted, "interrupted: not logged in")
        }
        for warning in warnings(of: client, credentials) { StandardError.write("warning: \(warning.description)") }
        do {
            try fileToEnd(file, credentials).save(credentials, insteadOf: old)
        } catch {
            // Nobody else has this token; that of a continued device may be in use.
            if !tokenStdin, old == nil { try? await client.logout() }
            throw error
        }
        try await network.matrixAccount(of: credentials.userId).beginEncryption()
        let device = credentials.deviceId.map { ", device \($0)" } ?? ""
        _ = StandardOutput.write(
            "logged in as \(credentials.userId ?? "") on \(client.homeserverURL)\(device)")
    }

    /// Warns about the user who logged in, because a browser may log in as anyone.
    private func warnings(of client: MXRestClient, _ credentials: MXCredentials) -> [MXLoginWarning] {
        guard sso, isUser, let user = credentials.userId, let warning = MXLoginWarning(asked: account, given: user)
        else { return client.loginWarnings }
        return [warning] + client.loginWarnings
    }

    /// The file of an earlier login of the same account, or of the first login.
    private var fileToBegin: MatrixCredentialFile {
        get throws(CommandFailure) {
            let name = user ?? account
            guard add, !MatrixCredentialFile.all.isEmpty else { return MatrixCredentialFile() }
            guard isUser || user != nil else { return MatrixCredentialFile(beside: name) }
            return (try? MatrixCredentialFile.of(name)) ?? MatrixCredentialFile(beside: name)
        }
    }

    /// Returns the file to save to: the user may be known only after the login.
    private func fileToEnd(
        _ file: MatrixCredentialFile, _ credentials: MXCredentials
    ) throws(CommandFailure) -> MatrixCredentialFile {
        guard add, let user = credentials.userId, try file.loadIfPresent() == nil, !MatrixCredentialFile.all.isEmpty
        else { return file }
        if let same = try? MatrixCredentialFile.of(user) { throw isLoggedIn(same, user) }
        return MatrixCredentialFile(beside: user)
    }

    /// Returns the credentials that a soft logout of the same user has left; `nil` if there are none.
    private func credentialsToReplace(in file: MatrixCredentialFile) async throws -> MXCredentials? {
        guard let old = try file.loadIfPresent() else { return nil }
        let name = user ?? account
        let isSameUser =
            old.userId.map { $0 == name || user != nil && $0.hasPrefix("@\(name):") } ?? false
        do {
            if isSameUser {
                _ = try await MXRestClient(credentials: old, options: MXRestClientOptions(network)).whoAmI()
            }
        } catch let error as MXError where error.errcode == kMXErrCodeStringUnknownToken {
            guard error.isSoftLogout else {
                try file.remove(old.accessToken)
                return nil
            }
            return old
        } catch {
            // It is unknown whether the earlier login is still valid.
        }
        throw isLoggedIn(file, old.userId)
    }

    private func isLoggedIn(_ file: MatrixCredentialFile, _ loggedIn: String?) -> CommandFailure {
        let path = file.file.path
        guard add, let loggedIn else {
            return CommandFailure(
                .refused,
                "\(path) already exists: log out first, with pusher-cli matrix logout, or log in one more account with --add"
            )
        }
        return CommandFailure(
            .refused,
            "\(loggedIn) is already logged in, with \(path): to log in anew, log out first, with pusher-cli matrix logout "
                + "--user \(loggedIn)")
    }

    /// The server contacted first, for messages.
    private var askedServer: String {
        if let url = homeserver ?? (isURL ? account : nil) { return URL(string: url)?.serverName ?? url }
        return serverOfAccount
    }

    private var serverOfAccount: String {
        isUser ? String(account.drop { $0 != ":" }.dropFirst()) : account
    }

    /// Finds the homeserver and checks that it is one.
    private func homeserverURL() async throws -> URL {
        if let text = homeserver ?? (isURL ? account : nil), let url = URL(string: text) {
            _ = try await MXRestClient(homeServer: url, options: MXRestClientOptions(network)).supportedVersions()
            if url.scheme == "http", !["localhost", "127.0.0.1", "::1", "[::1]"].contains(url.host ?? "") {
                StandardError.write("warning: over http://, anyone on the way can read passwords, tokens and messages")
            }
            return url
        }
        let server = serverOfAccount
        switch try await MXRestClient.discoverHomeserver(of: server, options: MXRestClientOptions(network)) {
        case .found(let wellKnown, _):
            if let url = wellKnown.homeserver.flatMap({ URL(string: $0) }) { return url }
            fallthrough
        case .failPrompt:
            throw CommandFailure(
                .unavailable, "\(server) does not say where its homeserver is: give its URL with --homeserver")
        case .failError:
            throw CommandFailure(.unavailable, "the homeserver that \(server) names does not answer like a homeserver")
        }
    }

    // MARK: Login methods

    /// - Parameter device: An existing device to continue; `nil` creates a new one.
    /// - Returns: `nil` if the user cancelled.
    private func logIn(_ client: MXRestClient, as device: String?) async throws -> MXCredentials? {
        if tokenStdin {
            guard let token = try SecretInput.fromStandardInput("token") else { return nil }
            return try await withToken(token, of: client)
        }
        let flows = try await client.loginFlows().map(\.type)
        if sso {
            guard flows.contains(.sso) else {
                throw CommandFailure(.refused, "the homeserver does not support login with a browser")
            }
            return try await withBrowser(client, as: device)
        }
        guard flows.contains(.password) else {
            throw CommandFailure(
                .refused, "the homeserver does not accept passwords" + (flows.contains(.sso) ? ": use --sso" : ""))
        }
        let name = user ?? account
        guard
            let password = passwordStdin
                ? try SecretInput.fromStandardInput("password")
                : try SecretInput.typed("Password of \(name): ")
        else { return nil }
        return try await logIn(
            client, as: device,
            [
                "type": MXLoginFlowType.password.identifier, "identifier": ["type": "m.id.user", "user": name],
                "password": password,
            ])
    }

    /// Logs in without a refresh token: `listen` and `send` run concurrently as unrelated processes, and a refresh by
    /// one would invalidate the token of the other. If a server lets tokens expire anyway, the commands ask the user to
    /// log in again.
    private func logIn(
        _ client: MXRestClient, as device: String?, _ parameters: [String: Any]
    ) async throws -> MXCredentials {
        var parameters = parameters.merging([
            "refresh_token": false, "initial_device_display_name": deviceName,
        ]) { $1 }
        parameters["device_id"] = device
        return try await client.login(parameters: parameters)
    }

    private func withToken(_ token: String, of client: MXRestClient) async throws -> MXCredentials {
        var credentials = MXCredentials(homeServer: client.homeserverURL, userId: nil, accessToken: token)
        let who = try await MXRestClient(credentials: credentials, options: MXRestClientOptions(network)).whoAmI()
        guard !isUser || who.userId == account else {
            throw CommandFailure(.refused, "the token belongs to another user: \(who.userId)")
        }
        credentials.userId = who.userId
        credentials.deviceId = who.deviceId
        return credentials
    }

    private func withBrowser(_ client: MXRestClient, as device: String?) async throws -> MXCredentials? {
        let redirect = try await SSORedirect.start()
        guard let page = client.ssoURL(redirectURL: redirect.url, identityProvider: identityProvider),
            StandardOutput.write("open \(page.absoluteString)")
        else { return nil }
        let token = await StatusLine.waiting(for: "the login in your browser") { await redirect.token() }
        await redirect.stop()
        guard let token else { return nil }
        return try await logIn(client, as: device, ["type": MXLoginFlowType.token.identifier, "token": token])
    }
}
