import ArgumentParser
import Foundation
import PydioSDK

struct PydioLoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Log in to a server, and keep what the other commands need.",
        discussion: """
            The password is asked for at the terminal. What is kept lies in $XDG_CONFIG_HOME/pusher-cli/pydio.json, else in \
            ~/.config/pusher-cli, readable for you alone: a key pair in place of the password if the server gives one, else the \
            session, and the password for when that is over.

            If the server wants a captcha solved, its image is written to a file, and the code is asked for. With \
            --password-stdin that is two steps: the first prints the file's name and ends with 77, the second is the same with \
            --captcha-code.

            Examples:
              pusher-cli pydio login https://example.org/pydio --user ada
              pusher-cli pydio login http://localhost:8080 --user ada \\
                --password-stdin --captcha-code x7f2 < password
            """)

    @Argument(help: "The server's address: what a browser opens, without index.php.")
    var server: String

    @Option(help: "Who logs in.")
    var user: String

    @Flag(help: "Read the password from standard input.")
    var passwordStdin = false

    @Flag(name: .customLong("no-password"), help: "Keep the session alone: log in again when it is over.")
    var forgetsPassword = false

    @Option(
        help: ArgumentHelp("What the captcha's image shows that the login before this one wrote.", valueName: "code"))
    var captchaCode: String?

    @Option(
        help: ArgumentHelp("Where a captcha's image is written. Default: beside pydio.json.", valueName: "file"),
        completion: .file())
    var captchaFile: String?

    @OptionGroup var connection: PydioConnectionOptions

    func validate() throws {
        guard let url = URLComponents(string: server), ["http", "https"].contains(url.scheme),
            url.host.map({ !$0.isEmpty }) ?? false, url.user == nil, url.password == nil, url.query == nil,
            url.fragment == nil
        else { throw ValidationError("A server's address is https://server/path, without anything more.") }
        guard !user.isEmpty else { throw ValidationError("--user cannot be empty.") }
        guard captchaCode.map({ !$0.isEmpty }) ?? true else { throw ValidationError("--captcha-code cannot be empty.") }
    }

    func run() async throws {
        try await ExitStatus.reporting {
            guard let url = URL(string: server) else { throw CommandFailure(.badData, "\(server) is no address") }
            if url.scheme == "http", !["localhost", "127.0.0.1", "::1", "[::1]"].contains(url.host ?? "") {
                StandardError.write("warning: http:// may show the password, and shows files, to everybody on the way")
            }
            let login = try await SignalWatch.finishing { try await logIn(to: url) }
            let kept =
                login.keyPair != nil
                ? "a key pair is kept in place of the password"
                : login.password != nil
                    ? "the session and the password are kept in \(PydioLoginFile().store.file.path)"
                    : "the session alone is kept"
            _ = StandardOutput.write(
                "logged in as \(user) on \(url.absoluteString); \(kept)")
        }
    }

    private func logIn(to server: URL) async throws -> PydioLogin {
        guard
            let password = passwordStdin
                ? try SecretInput.fromStandardInput("password")
                : try SecretInput.typed("Password of \(user): ")
        else { throw CommandFailure(.interrupted, "interrupted: nobody is logged in") }
        let attempt = PydioLoginAttempt(
            server: server, user: user, password: password, keepsPassword: !forgetsPassword,
            captchaFile: captchaFile.map { URL(filePath: $0) } ?? PydioLoginAttempt.defaultCaptchaFile,
            code: captchaCode, canAsk: !passwordStdin, options: connection.client)
        return try await attempt.run()
    }
}
