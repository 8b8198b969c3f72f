import Basics
import Realtime
import Transport

/// Bounds how often errors are reported that a server can cause with a message each: 20 of a kind at once, then one a
/// second. Those left out are counted, and the count comes with the next one.
package struct ErrorLimit: Sendable {
    fileprivate struct Bucket: Sendable {
        var tokens = ErrorLimit.burst
        var refilledAt: MonotonicInstant
        var omittedCount = 0
        /// The newest that was left out.
        var omitted: PusherError?
    }

    /// Errors of a kind that are reported at once.
    package static let burst = 20
    /// How often one is reported after those.
    package static let interval = Duration.seconds(1)

    private var buckets: [PusherError.Kind: Bucket] = [:]

    /// When ``takeOmitted(now:)`` has something.
    var nextDeadline: MonotonicInstant? {
        buckets.values.compactMap { $0.omitted == nil ? nil : $0.refilledAt + Self.interval }.min()
    }

    /// The error as it is to be reported; nil if it is left out for now.
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

    /// The newest of each kind that was left out, if its time has come.
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
    /// Whether a message of the server's is enough to cause it.
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
