/// How an operation with a progress is doing.
public enum MXProgress<T> {
    /// It goes on.
    case progress(Progress)
    /// It is done.
    case success(T)
    /// It has failed.
    case failure(any Error)

    /// Whether this is the last that is heard of it.
    public var isComplete: Bool {
        switch self {
        case .progress: false
        case .success, .failure: true
        }
    }

    /// What it gave; nil if it did not yet, or failed.
    public var value: T? {
        if case .success(let value) = self { value } else { nil }
    }

    /// Why it failed; nil if it did not.
    public var error: (any Error)? {
        if case .failure(let error) = self { error } else { nil }
    }
}

/// How far a transfer has come.
public struct MXTransferProgress: Sendable, Hashable {
    /// Bytes.
    public let completed: Int64
    /// Bytes; nil if the server has not said.
    public let total: Int64?

    package init(completed: Int64, total: Int64?) {
        (self.completed, self.total) = (completed, total)
    }

    var progress: Progress {
        let progress = Progress(totalUnitCount: total ?? -1)
        progress.completedUnitCount = completed
        return progress
    }
}
