package import Testing

/// A test of a bug that older clients of the protocol had, which must not exist here.
package struct Regression: TestTrait, SuiteTrait {
    /// What went wrong there.
    package let bug: String

    package var comments: [Comment] { [Comment(rawValue: bug)] }
}

extension Trait where Self == Regression {
    /// - Parameter bug: What went wrong in older clients.
    package static func regression(_ bug: String) -> Self { Regression(bug: bug) }
}
