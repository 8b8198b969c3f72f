import ArgumentParser
import CommandKit
import Foundation
import PydioSDK

struct PydioLoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Log in to a server, and save what the other commands need.",
        discussion: """
            Works with Pydio 5.2 to 8, not with Pydio Cells.

            Asks for the password at the terminal. The login is saved in $XDG_CONFIG_HOME/pusher-cli/pydio.json, by \
            default in ~/.config/pusher-cli, readable only by you: a key pair instead of the password if the server \
            issues one, otherwise the session, and the password to log in again when the session expires.

            If the server asks for a captcha, its image is written to a file, and the command asks for the code. With \
            --password-stdin, this takes two runs: the first prints the file's name and exits with 77, the second is \
            the same command with --captcha-code.

            Examples:
              pusher-cli pydio login https://example.org/pydio --user ada
              pusher-cli pydio login http://localhost:8080 --user ada \\
                --password-stdin --captcha-code x7f2 < password
            """)

    @Argument(help: "The server's address as you open it in a browser, without index.php.")
    var server: String

    @Option(help: "The user to log in as.")
    var user: String

    @Flag(help: "Read the password from standard input.")
    var passwordStdin = false

    @Flag(name: .customLong("no-password"), help: "Save only the session; log in again when it expires.")
    var forgetsPassword = false

    @Flag(
        help: """
            Instead of the password, save the session and a cookie by which the server remembers the login, usually \
            until ten days after its last use.
            """)
    var remember = false

    @Option(
        help: ArgumentHelp("The code in the captcha image that the previous login wrote.", valueName: "code"))
    var captchaCode: String?

    @Option(
        help: ArgumentHelp("Where to write a captcha's image. Default: next to pydio.json.", valueName: "file"),
        completion: .file())
    var captchaFile: String?

    @OptionGroup var network: NetworkArguments

    func validate() throws {
        guard let url = URLComponents(string: server), ["http", "https"].contains(url.scheme),
            url.host.map({ !$0.isEmpty }) ?? false, url.user == nil, url.password == nil, url.query == nil,
            url.fragment == nil
        else { throw ValidationError("A server's address is https://server/path and nothing more.") }
        guard !remember || !forgetsPassword else {
            throw ValidationError("--remember saves no password either: use it alone.")
        }
        guard !user.isEmpty else { throw ValidationError("--user cannot be empty.") }
        guard captchaCode.map({ !$0.isEmpty }) ?? true else { throw ValidationError("--captcha-code cannot be empty.") }
    }

    func run() async throws {
        guard let url = URL(string: server) else { throw CommandFailure(.badData, "\(server) is not an address") }
        if url.scheme == "http", !["localhost", "127.0.0.1", "::1", "[::1]"].contains(url.host ?? "") {
            StandardError.write("warning: over http://, anyone on the way can read files, and may read the password")
        }
        let login = try await logIn(to: url)
        let kept =
            login.keyPair != nil
            ? "a key pair is saved instead of the password"
            : login.password != nil
                ? "the session and the password are saved in \(PydioLoginFile().store.file.path)"
                : login.isRemembered
                    ? "the session is saved, and the server remembers the login"
                    : "only the session is saved"
        if remember, !login.isRemembered {
            StandardError.write("warning: the server does not remember logins: log in again when the session is over")
        }
        _ = StandardOutput.write(
            "logged in as \(user) on \(url.absoluteString); \(kept)")
    }

    private func logIn(to server: URL) async throws -> PydioLogin {
        guard
            let password = passwordStdin
                ? try SecretInput.fromStandardInput("password")
                : try SecretInput.typed("Password of \(user): ")
        else { throw CommandFailure(.interrupted, "interrupted: not logged in") }
        let attempt = PydioLoginAttempt(
            server: server, user: user, password: password, keepsPassword: !forgetsPassword && !remember,
            isRemembered: remember,
            captchaFile: captchaFile.map { URL(filePath: $0) } ?? PydioLoginAttempt.defaultCaptchaFile,
            code: captchaCode, canAsk: !passwordStdin, options: try PydioClientOptions(network))
        return try await StatusLine.waiting(for: "the answer of \(server.serverName ?? server.absoluteString)") {
            try await attempt.run()
        }
    }
}
