/// How an operation ended.
public typealias MXResponse<T> = Result<T, any Error>

extension Result {
    /// Whether it succeeded.
    public var isSuccess: Bool { value != nil }
    /// Whether it failed.
    public var isFailure: Bool { error != nil }
    /// What it gave; nil if it failed.
    public var value: Success? { try? get() }
    /// Why it failed; nil if it succeeded.
    public var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
