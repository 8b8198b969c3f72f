package import PusherHTTP
package import PusherSwift

/// An error that a command reports on one line and that has its own exit status.
package protocol ReportableError: Error, CustomStringConvertible {
    var exitStatus: ExitStatus { get }

    /// Advice for the user, printed after the description; `nil` by default.
    var advice: String? { get }
}

extension ReportableError {
    package var advice: String? { nil }
}

/// The reason why a command cannot do its work.
package struct CommandFailure: ReportableError {
    package let exitStatus: ExitStatus
    package let description: String
    /// Whether nothing was done because the keys of a Matrix login could not be used.
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

    /// Whether the server does not know the application, has disabled it, or denies access to this client.
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
        case .rejected where status == 404: .refused  // the path of every call contains the application's id
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
