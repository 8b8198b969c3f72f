import Basics
public import Foundation
import Transport

/// An error of a call to a Pydio server, or of the connection to it.
///
/// Neither message nor excerpt contains passwords, tokens, cookies or contents of files.
public struct PydioError: Error, Sendable, Hashable {
    /// The kinds of error. The first eight are those of the original library, with its names.
    @nonexhaustive
    public enum Code: Hashable, Sendable {
        /// XML or JSON arrived without the expected content.
        case unableToParseAnswer
        /// The server answers "not authorized", even after a login.
        case requireAuthorization
        /// The login was refused, or no user is set. See ``PydioError/loginResult``.
        case unableToLogin
        /// A captcha must be solved before the login: `getCaptcha()`, then `login(captcha:)`.
        case getSeedWithCaptcha
        /// A captcha must be solved, or was solved incorrectly: fetch a new one.
        case loginWithCaptcha
        /// The server reported an error: see ``PydioError/serverMessage``, in the user's language.
        case errorResponse
        /// The answer is not one of this call, such as a proxy's page. See ``PydioError/excerpt``.
        case receivedNotExpectedAnswer
        /// The answer is not a download.
        case notAZipFileResponse
        /// The user's account lacks the right, such as administration. Nothing was changed.
        case notPermitted
        /// The HTTP status is not a success.
        case http(status: Int)
        /// This is not a Pydio server, or its version is not supported.
        case unsupportedServer
        /// The server lacks a feature that the call needs: its version is too old, or a plugin is off. Nothing was
        /// changed.
        case unsupportedOperation
        /// The server could not be reached, or the connection broke.
        case network
        case timedOut
        case cancelled
        /// An argument is invalid. Nothing was sent; retrying does not help.
        case invalidArgument
        /// A limit was exceeded, which the message names.
        case tooLarge
        /// A local file could not be read or written.
        case file
    }

    /// The kind of error.
    public let code: Code
    /// A description of the error, the affected object, and the next step.
    public let message: String
    /// The server's message for ``Code-swift.enum/errorResponse``; at most 1,000 characters, for people.
    public internal(set) var serverMessage: String?
    /// The result of a refused login, for ``Code-swift.enum/unableToLogin``.
    public internal(set) var loginResult: PydioLoginResult?
    /// The HTTP status of an unexpected answer.
    public internal(set) var status: Int?
    /// The beginning of such an answer's text, without markup; at most 120 characters. `nil` if it is not text.
    public internal(set) var excerpt: String?

    /// Creates an error with this code and message.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = PeerText(message).description
    }

    /// Whether retrying may help.
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

    /// Whether the login requires a captcha.
    package var wantsCaptcha: Bool { code == .getSeedWithCaptcha || code == .loginWithCaptcha }

    /// Whether the server refused a login, or requires a captcha for it.
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

    /// The replacement for the server's message if it accepted nothing of an upload.
    static let lostUpload = "nothing of the upload has arrived"

    /// Whether the server refused a non-empty upload because of its size (409, 410, or without a message).
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

    /// The error for a request that needs the REST interface, without a key pair.
    package static let needsKeyPair = PydioError(
        .unsupportedOperation,
        "the REST interface needs a key pair, and there is none: servers give them from version 6 on, unless an administrator "
            + "has turned that off, and to logins whose password is saved; nothing was sent")

    package static let cancelled = PydioError(.cancelled, "the operation was cancelled")
}

extension PydioError: CustomStringConvertible, LocalizedError, CustomNSError {
    /// Same as ``message``.
    public var description: String { message }
    /// Same as ``message``.
    public var errorDescription: String? { message }

    /// The domain of the original library.
    public static var errorDomain: String { "PydioErrorDomain" }

    /// The error number: 1 to 8 as in the original library (8 as in its later version), others from 100, and an HTTP
    /// status as itself.
    public var errorCode: Int { code.number }
}

/// The server's answer to a login (`logging_result`).
public enum PydioLoginResult: Sendable, Hashable {
    /// 1: success.
    case success
    /// 2: the answer to a logout.
    case loggedOut
    /// −1: wrong name or password, or the account is locked.
    case refused
    /// −3: the name and password were correct, but the account cannot open any workspace.
    case noWorkspace
    /// −4: a captcha is needed.
    case captcha
    /// −5: the cookie of an earlier login is missing or invalid.
    case rememberedLoginInvalid
    /// A value that no known version sends.
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
