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
