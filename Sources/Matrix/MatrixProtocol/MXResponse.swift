/// The result of an operation.
public typealias MXResponse<T> = Result<T, any Error>

extension Result {
    /// Whether the operation succeeded.
    public var isSuccess: Bool { value != nil }
    /// Whether the operation failed.
    public var isFailure: Bool { error != nil }
    /// The value; `nil` if the operation failed.
    public var value: Success? { try? get() }
    /// The error; `nil` if the operation succeeded.
    public var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
