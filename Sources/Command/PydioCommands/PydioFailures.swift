import CommandKit
import PydioSDK

extension PydioError: ReportableError {
    var exitStatus: ExitStatus {
        switch code {
        case .requireAuthorization, .unableToLogin, .getSeedWithCaptcha, .loginWithCaptcha: .refused
        case .notPermitted, .http(status: 401), .http(status: 403): .refused
        case .errorResponse, .notAZipFileResponse, .invalidArgument, .tooLarge, .file: .badData
        case .unableToParseAnswer, .receivedNotExpectedAnswer, .http, .unsupportedServer, .unsupportedOperation,
            .network,
            .timedOut:
            .unavailable
        case .cancelled: .interrupted
        @unknown default: .unavailable
        }
    }

    /// Whether the error is about the login.
    var isOfLogin: Bool {
        switch code {
        case .requireAuthorization, .unableToLogin, .getSeedWithCaptcha, .loginWithCaptcha: true
        case .http, .errorResponse, .notAZipFileResponse, .invalidArgument, .tooLarge, .file, .unableToParseAnswer,
            .receivedNotExpectedAnswer, .notPermitted, .unsupportedServer, .unsupportedOperation, .network, .timedOut,
            .cancelled:
            false
        @unknown default: false
        }
    }
}
