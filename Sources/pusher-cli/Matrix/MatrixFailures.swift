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
}

extension MatrixError: ReportableError {
    var exitStatus: ExitStatus {
        switch code {
        case .network, .timedOut, .badResponse, .cancelled, .http: .unavailable
        case .tooLarge, .invalidArgument, .encryptionNotAvailable, .roomNotFound, .eventNotFound, .store, .file:
            .badData
        case .unauthenticated, .interactionRequired: .refused
        @unknown default: .unavailable
        }
    }
}

extension ExitStatus {
    /// Does a `matrix` command's work, and says what helps if the login is dead.
    static func reportingMatrix(_ work: () async throws -> Void) async throws {
        try await reporting {
            do {
                try await work()
            } catch let error as MXError where error.errcode == kMXErrCodeStringUnknownToken {
                throw CommandFailure(
                    .refused, "\(error): log in again, with pusher-cli matrix logout and pusher-cli matrix login")
            }
        }
    }
}
