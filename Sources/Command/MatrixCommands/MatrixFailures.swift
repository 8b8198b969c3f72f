import CommandKit
import MatrixSDK

extension MXError: ReportableError {
    var exitStatus: ExitStatus {
        switch errcode {
        case kMXErrCodeStringForbidden, kMXErrCodeStringUnknownToken, kMXErrCodeStringMissingToken: .refused
        default:
            switch status {
            case 401, 403: .refused
            case 429, 500...: .unavailable
            default: .badData
            }
        }
    }

    /// Advice if the login is no longer valid; `nil` otherwise.
    var advice: String? {
        guard errcode == kMXErrCodeStringUnknownToken else { return nil }
        return "log in again, with pusher-cli matrix login"
    }
}

extension MatrixError: ReportableError {
    var exitStatus: ExitStatus {
        switch code {
        case .network, .timedOut, .badResponse, .cancelled, .http: .unavailable
        case .tooLarge, .invalidArgument, .encryptionNotAvailable, .identityChanged, .roomNotFound, .eventNotFound,
            .store, .file:
            .badData
        case .unauthenticated, .interactionRequired: .refused
        @unknown default: .unavailable
        }
    }
}
