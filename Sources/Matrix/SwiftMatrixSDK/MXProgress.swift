/// The progress or result of an operation.
public enum MXProgress<T> {
    /// The operation continues.
    case progress(Progress)
    /// The operation has succeeded.
    case success(T)
    /// The operation has failed.
    case failure(any Error)

    /// Whether this is the final report.
    public var isComplete: Bool {
        switch self {
        case .progress: false
        case .success, .failure: true
        }
    }

    /// The result; `nil` if the operation is pending or has failed.
    public var value: T? {
        if case .success(let value) = self { value } else { nil }
    }

    /// The error; `nil` if the operation has not failed.
    public var error: (any Error)? {
        if case .failure(let error) = self { error } else { nil }
    }
}
