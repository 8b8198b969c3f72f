import PusherHTTP
import PusherSwift

/// An error that a command reports in one line and ends with a status of its own.
protocol ReportableError: Error, CustomStringConvertible {
    var exitStatus: ExitStatus { get }
}

/// Why a command cannot do what it was asked for.
struct CommandFailure: ReportableError {
    let exitStatus: ExitStatus
    let description: String

    init(_ exitStatus: ExitStatus, _ description: String) {
        self.exitStatus = exitStatus
        self.description = description
    }
}

extension PusherError: ReportableError {
    var exitStatus: ExitStatus {
        switch kind {
        case .couldNotConnect, .connectionLost, .closedByServer, .bufferOverflow, .readingHeld, .readingResumed,
            .sourceFailed:
            .unavailable
        case .authorizationFailed, .subscriptionFailed: .refused
        case .serverError, .malformedMessage, .unknownChannel, .decryptionFailed, .clientEventRejected,
            .invalidArgument, .undecodableData:
            .badData
        }
    }
}

extension PusherHTTPError: ReportableError {
    var exitStatus: ExitStatus {
        switch kind {
        case .invalidArgument, .rejected: .badData
        case .refused: .refused
        case .unreachable, .serverFailure, .unexpectedAnswer: .unavailable
        @unknown default: .unavailable
        }
    }
}

extension PusherWebhookError: ReportableError {
    var exitStatus: ExitStatus {
        switch kind {
        case .unknownKey, .wrongSignature: .refused
        case .malformed, .outdated, .invalidArgument: .badData
        @unknown default: .badData
        }
    }
}

extension ExitStatus {
    /// Does a command's work. What goes wrong is said on standard error and becomes the exit status.
    static func reporting(_ work: () async throws -> Void) async throws {
        do {
            try await work()
            try StandardOutput.requireTaken()
        } catch let error as any ReportableError {
            StandardError.write("error: \(error.description)")
            try error.exitStatus.exit()
        } catch let error as DecodingError {
            // Its own words repeat what was read.
            StandardError.write("error: the answer cannot be read: \(error)")
            try unavailable.exit()
        }
    }
}
