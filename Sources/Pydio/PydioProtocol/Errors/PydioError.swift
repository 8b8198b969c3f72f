import Basics
public import Foundation
import Transport

/// What went wrong with a call to a Pydio server, or on the way to it.
///
/// Neither message nor excerpt holds passwords, tokens, cookies or contents of files.
public struct PydioError: Error, Sendable, Hashable {
    /// What went wrong. The first eight are those of the original library, under its names.
    @nonexhaustive
    public enum Code: Hashable, Sendable {
        /// XML or JSON arrived, but what was expected was not in it.
        case unableToParseAnswer
        /// The server says "not authorized", and says it again after a login.
        case requireAuthorization
        /// The login was refused, or there is nobody to log in as. See ``PydioError/loginResult``.
        case unableToLogin
        /// A captcha is to be solved before the login: `getCaptcha()`, then `login(captcha:)`.
        case getSeedWithCaptcha
        /// A captcha is to be solved, or was solved wrongly: fetch a new one.
        case loginWithCaptcha
        /// The server's error message, which is ``PydioError/serverMessage``, in the language of the user.
        case errorResponse
        /// The answer is none that the call can have: a proxy's page, say. See ``PydioError/excerpt``.
        case receivedNotExpectedAnswer
        /// What came instead of a download is none.
        case notAZipFileResponse
        /// The user's account does not have the right, administration for example. Nothing was changed.
        case notPermitted
        /// A status other than success.
        case http(status: Int)
        /// This is not a Pydio server, or its version is not supported.
        case unsupportedServer
        /// The server does not have what the call needs: its version is too old, or a plugin is off. Nothing was changed.
        case unsupportedOperation
        /// The server could not be reached, or the connection broke.
        case network
        case timedOut
        case cancelled
        /// An argument that cannot work. Nothing was sent; trying again does not help.
        case invalidArgument
        /// More than a bound, which the message names.
        case tooLarge
        /// A file on this side could not be read or written.
        case file
    }

    /// What went wrong.
    public let code: Code
    /// What happened, to what, and what is next.
    public let message: String
    /// What the server says, of ``Code-swift.enum/errorResponse``; at most 1,000 characters, for people.
    public internal(set) var serverMessage: String?
    /// How the login was refused, of ``Code-swift.enum/unableToLogin``.
    public internal(set) var loginResult: PydioLoginResult?
    /// The HTTP status of an answer that is not the expected one.
    public internal(set) var status: Int?
    /// How the text of such an answer begins, without markup; at most 120 characters. Nil if it is not text.
    public internal(set) var excerpt: String?

    /// See the properties.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = PeerText(message).description
    }

    /// Whether trying again may help.
    public var isRetryable: Bool {
        switch code {
        case .network, .timedOut: true
        case .http(let status): status == 429 || status >= 500
        case .unableToParseAnswer, .receivedNotExpectedAnswer: status.map { $0 < 300 } ?? false
        case .requireAuthorization, .unableToLogin, .getSeedWithCaptcha, .loginWithCaptcha, .errorResponse,
            .notAZipFileResponse, .notPermitted, .unsupportedServer, .unsupportedOperation, .cancelled,
            .invalidArgument, .tooLarge,
            .file:
            false
        }
    }

    /// Whether the login wants a captcha solved.
    package var wantsCaptcha: Bool { code == .getSeedWithCaptcha || code == .loginWithCaptcha }

    /// Whether the server refused a login, or wants a captcha for it.
    var isRefusedLogin: Bool {
        switch code {
        case .unableToLogin, .getSeedWithCaptcha, .loginWithCaptcha: true
        case .requireAuthorization, .unableToParseAnswer, .errorResponse, .receivedNotExpectedAnswer,
            .notAZipFileResponse, .http, .notPermitted, .unsupportedServer, .unsupportedOperation, .network, .timedOut,
            .cancelled,
            .invalidArgument, .tooLarge, .file:
            false
        }
    }

    /// What stands for the server's words when it took nothing of an upload.
    static let lostUpload = "nothing of the upload has arrived"

    /// Whether the server refused an upload that has content because of its size (409, 410, or without a word).
    package var isRefusalOfSize: Bool {
        guard code == .errorResponse, let serverMessage else { return false }
        return serverMessage == Self.lostUpload || serverMessage.hasSuffix("(409)") || serverMessage.hasSuffix("(410)")
    }

    /// - Parameter operation: Completes "the server cannot".
    static func unsupportedOperation(_ operation: String) -> PydioError {
        PydioError(
            .unsupportedOperation,
            "the server cannot \(operation): its version has no such action, or not for this account; nothing was changed"
        )
    }

    /// A request that only the REST interface has, without a key pair.
    package static let needsKeyPair = PydioError(
        .unsupportedOperation,
        "the REST interface needs a key pair, and there is none: servers give them from version 6 on, unless an administrator "
            + "has turned that off, and to logins whose password is saved; nothing was sent")

    package static let cancelled = PydioError(.cancelled, "the operation was cancelled")
}

extension PydioError: CustomStringConvertible, LocalizedError, CustomNSError {
    /// The same as ``message``.
    public var description: String { message }
    /// The same as ``message``.
    public var errorDescription: String? { message }

    /// The domain of the original library.
    public static var errorDomain: String { "PydioErrorDomain" }

    /// The numbers of the original library, 1 to 8, the last by its later version; others begin at 100, and an HTTP status
    /// stands for itself.
    public var errorCode: Int { code.number }
}

/// How the server answered a login (`logging_result`).
public enum PydioLoginResult: Sendable, Hashable {
    /// 1
    case success
    /// 2, the answer to logging out.
    case loggedOut
    /// −1: wrong name or password, or the account is locked.
    case refused
    /// −3: the name and password were right, but the account may open no workspace.
    case noWorkspace
    /// −4: a captcha is needed.
    case captcha
    /// −5: the cookie of a former login is missing or bad.
    case rememberedLoginInvalid
    /// A value that no known version gives.
    case other(String)

    package init(value: String) {
        switch value {
        case "1": self = .success
        case "2": self = .loggedOut
        case "-1": self = .refused
        case "-3": self = .noWorkspace
        case "-4": self = .captcha
        case "-5": self = .rememberedLoginInvalid
        default: self = .other(PeerText(value).line(limit: 20))
        }
    }
}
