package import PusherHTTP
package import PusherSwift

/// An error that a command reports in one line and ends with a status of its own.
package protocol ReportableError: Error, CustomStringConvertible {
    var exitStatus: ExitStatus { get }

    /// What a user can do about it, after its description; nil by default.
    var advice: String? { get }
}

extension ReportableError {
    package var advice: String? { nil }
}

/// Why a command cannot do what it was asked for.
package struct CommandFailure: ReportableError {
    package let exitStatus: ExitStatus
    package let description: String
    /// Whether the keys of a Matrix login could not be used, and nothing was done for this reason.
    package let lacksKeys: Bool

    package init(_ exitStatus: ExitStatus, _ description: String, lacksKeys: Bool = false) {
        self.exitStatus = exitStatus
        self.description = description
        self.lacksKeys = lacksKeys
    }

    package static let interrupted = CommandFailure(.interrupted, "interrupted before it was done")
}

extension PusherError: ReportableError {
    package var exitStatus: ExitStatus {
        switch kind {
        case .closedByServer: isOfApplication ? .refused : .unavailable
        case .couldNotConnect, .connectionLost, .bufferOverflow, .readingHeld, .readingResumed, .sourceFailed:
            .unavailable
        case .authorizationFailed, .subscriptionFailed: isUnanswered ? .unavailable : .refused
        case .serverError, .malformedMessage, .unknownChannel, .decryptionFailed, .clientEventRejected,
            .invalidArgument, .undecodableData:
            .badData
        }
    }

    /// Whether the server does not know the application, has disabled it, or does not let this client in.
    private var isOfApplication: Bool {
        switch code {
        case 4001, 4003, 4009: true
        case .some, nil: false
        }
    }
}

extension PusherHTTPError: ReportableError {
    package var exitStatus: ExitStatus {
        switch kind {
        case .rejected where status == 404: .refused  // the application's id is part of every call's path
        case .invalidArgument, .rejected: .badData
        case .refused: .refused
        case .unreachable, .serverFailure, .unexpectedAnswer: .unavailable
        @unknown default: .unavailable
        }
    }
}

extension PusherWebhookError: ReportableError {
    package var exitStatus: ExitStatus {
        switch kind {
        case .unknownKey, .wrongSignature: .refused
        case .malformed, .outdated, .invalidArgument: .badData
        @unknown default: .badData
        }
    }
}
