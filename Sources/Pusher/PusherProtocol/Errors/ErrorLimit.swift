import Basics
import Realtime
import Transport

/// Limits how often errors are reported that a server can cause with a single message: 20 of a kind at once, then one
/// per second. The next report includes the number of omitted errors.
package struct ErrorLimit: Sendable {
    fileprivate struct Bucket: Sendable {
        var tokens = ErrorLimit.burst
        var refilledAt: MonotonicInstant
        var omittedCount = 0
        var omitted: PusherError?
    }

    /// The number of errors of a kind that are reported at once.
    package static let burst = 20
    /// The interval between reports after the burst.
    package static let interval = Duration.seconds(1)

    private var buckets: [PusherError.Kind: Bucket] = [:]

    /// The time at which ``takeOmitted(now:)`` next returns an error.
    var nextDeadline: MonotonicInstant? {
        buckets.values.compactMap { $0.omitted == nil ? nil : $0.refilledAt + Self.interval }.min()
    }

    /// Returns the error to report; `nil` if it is omitted for now.
    mutating func admit(_ error: PusherError, now: MonotonicInstant) -> PusherError? {
        guard error.kind.isOfMessages else { return error }
        var bucket = buckets[error.kind] ?? Bucket(refilledAt: now)
        defer { buckets[error.kind] = bucket }
        bucket.refill(now: now)
        guard bucket.tokens > 0 else {
            bucket.omittedCount += 1
            bucket.omitted = error
            return nil
        }
        return bucket.take(error)
    }

    /// Returns the newest omitted error of each kind that is due.
    mutating func takeOmitted(now: MonotonicInstant) -> [PusherError] {
        var errors: [PusherError] = []
        for (kind, var bucket) in buckets {
            guard let omitted = bucket.omitted else { continue }
            bucket.refill(now: now)
            guard bucket.tokens > 0 else { continue }
            bucket.omittedCount -= 1
            errors.append(bucket.take(omitted))
            buckets[kind] = bucket
        }
        return errors.sorted { $0.kind.rawValue < $1.kind.rawValue }
    }
}

extension ErrorLimit.Bucket {
    fileprivate mutating func refill(now: MonotonicInstant) {
        let whole = Int(min(max((now - refilledAt) / ErrorLimit.interval, 0), Double(ErrorLimit.burst)))
        guard whole > 0 else { return }
        tokens = min(tokens + whole, ErrorLimit.burst)
        refilledAt = tokens == ErrorLimit.burst ? now : refilledAt + ErrorLimit.interval * whole
    }

    fileprivate mutating func take(_ error: PusherError) -> PusherError {
        defer { (tokens, omittedCount, omitted) = (tokens - 1, 0, nil) }
        return error.with(omittedCount: omittedCount)
    }
}

extension PusherError.Kind {
    /// Whether a single message of the server can cause it.
    fileprivate var isOfMessages: Bool {
        switch self {
        case .serverError, .malformedMessage, .unknownChannel, .decryptionFailed: true
        case .couldNotConnect, .connectionLost, .closedByServer, .authorizationFailed, .subscriptionFailed,
            .clientEventRejected, .invalidArgument, .undecodableData, .bufferOverflow, .readingHeld, .readingResumed,
            .sourceFailed:
            false
        }
    }
}
