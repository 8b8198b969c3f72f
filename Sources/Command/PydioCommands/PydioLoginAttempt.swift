import Basics
import CommandKit
import Foundation
import PydioSDK

/// One login, through a captcha if need be.
struct PydioLoginAttempt: Sendable {
    /// Codes that may be typed wrongly before it is given up.
    private static let tries = 3

    let server: URL
    let user: String
    let password: String
    let keepsPassword: Bool
    /// Whether the server is to remember the login when the session is over.
    let isRemembered: Bool
    /// Where the image of a captcha is written.
    let captchaFile: URL
    /// What the image shows that an attempt before this one has left.
    let code: String?
    /// Whether there is somebody to ask for a code.
    let canAsk: Bool
    let options: PydioClientOptions

    static var defaultCaptchaFile: URL { PydioLoginFile().store.folder.appending(path: "pydio-captcha.png") }

    /// - Returns: What is kept by now.
    func run() async throws -> PydioLogin {
        let file = PydioLoginFile()
        try file.store.makeFolder()  // before there is a session that cannot be kept
        // A device that is known already gets no second key pair.
        let known = try file.logins().first { PydioLogin.isSame($0.server, server) && $0.user.isExactly(user) }
        var login = PydioLogin(
            server: server, user: user, deviceID: known?.deviceID ?? UUID().uuidString.lowercased(), password: password)
        let params = login.makeParams()
        var options = options
        // A key pair would be one more thing that stays valid for long.
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
            try? await client.logout()  // nobody would ever use that session
            throw error
        }
        if captchaFile == Self.defaultCaptchaFile { try? FileManager.default.removeItem(at: captchaFile) }
        return login
    }

    // MARK: Captcha

    /// Goes on with the session that the image was made for.
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

    /// Keeps what the login with a code needs, and says how it goes on.
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
