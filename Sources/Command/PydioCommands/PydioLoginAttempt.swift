import Basics
import CommandKit
import Foundation
import PydioSDK

/// A login attempt, with a captcha if needed.
struct PydioLoginAttempt: Sendable {
    /// The maximum number of wrong codes.
    private static let tries = 3

    let server: URL
    let user: String
    let password: String
    let keepsPassword: Bool
    /// Whether the server should remember the login after the session has ended.
    let isRemembered: Bool
    /// The file for the image of a captcha.
    let captchaFile: URL
    /// The code for the image of an earlier attempt.
    let code: String?
    /// Whether a user can be asked for a code.
    let canAsk: Bool
    let options: PydioClientOptions

    static var defaultCaptchaFile: URL { PydioLoginFile().store.folder.appending(path: "pydio-captcha.png") }

    /// - Returns: The stored login.
    func run() async throws -> PydioLogin {
        let file = PydioLoginFile()
        try file.store.makeFolder()  // before there is a session that could not be stored
        // A known device gets no second key pair.
        let known = try file.logins().first { PydioLogin.isSame($0.server, server) && $0.user.isExactly(user) }
        var login = PydioLogin(
            server: server, user: user, deviceID: known?.deviceID ?? UUID().uuidString.lowercased(), password: password)
        let params = login.makeParams()
        var options = options
        // A key pair would be one more long-lived credential.
        if !keepsPassword { options.authentication = isRemembered ? .rememberedSession : .session }
        let client = PydioClient(server: server, params: params, options: options)
        do {
            if let code {
                try takeUp(try file.pending(), params)
                try await client.login(captcha: code)
            } else {
                try await client.authorize()
            }
        } catch let error as PydioError where error.wantsCaptcha {
            try await solveCaptcha(client, params, hasFailed: code != nil)
        }
        login.take(params)
        if login.keyPair != nil || !keepsPassword { login.password = nil }
        do {
            try file.add(login)
        } catch {
            try? await client.logout()  // the session would never be used
            throw error
        }
        if captchaFile == Self.defaultCaptchaFile { try? FileManager.default.removeItem(at: captchaFile) }
        return login
    }

    // MARK: Captcha

    /// Continues with the session that belongs to the image.
    private func takeUp(_ pending: PydioPendingLogin?, _ params: ServersParamsManager) throws(CommandFailure) {
        guard let pending, PydioLogin.isSame(pending.server, server), pending.user.isExactly(user) else {
            throw CommandFailure(
                .badData,
                "no login of \(user) on \(server.absoluteString) waits for a code: log in without --captcha-code first")
        }
        params.setCookies(pending.cookies.map { PydioCookie(name: $0.name, value: $0.value) }, forServer: server)
        params.setSecureToken(pending.secureToken, forServer: server)
        params.setSeed(pending.seed, forServer: server)
    }

    private func solveCaptcha(_ client: PydioClient, _ params: ServersParamsManager, hasFailed: Bool) async throws {
        if hasFailed { StandardError.write("error: the code or the password is wrong") }
        for _ in 0..<Self.tries {
            try await saveImage(client)
            guard canAsk else { throw try waiting(params) }
            StandardError.write("the server asks for a captcha; its image is \(captchaFile.path)")
            guard let code = try SecretInput.typed("Code in the image: ", what: "code", isShown: true) else {
                throw CommandFailure(.interrupted, "interrupted: not logged in")
            }
            do {
                return try await client.login(captcha: code)
            } catch let error as PydioError where error.wantsCaptcha {
                StandardError.write("error: the code or the password is wrong")
            }
        }
        throw CommandFailure(.refused, "not logged in after \(Self.tries) codes")
    }

    private func saveImage(_ client: PydioClient) async throws {
        let image = try await client.getCaptcha()
        do {
            try image.write(to: captchaFile, options: .atomic)
        } catch {
            throw CommandFailure(.badData, "the captcha's image cannot be written to \(captchaFile.path)")
        }
    }

    /// Stores what is needed to log in with a code, and returns how to continue.
    private func waiting(_ params: ServersParamsManager) throws(CommandFailure) -> CommandFailure {
        let cookies = params.allServerCookies(server).map { PydioLogin.Cookie(name: $0.name, value: $0.value) }
        try PydioLoginFile().wait(
            for: PydioPendingLogin(
                server: server, user: user, seed: params.seed(forServer: server), cookies: cookies,
                secureToken: params.secureToken(forServer: server)))
        _ = StandardOutput.write(TerminalText(captchaFile.path))
        return CommandFailure(
            .refused,
            "the server asks for a captcha: log in again with --captcha-code and the code in \(captchaFile.path)")
    }
}
