package import Testing

/// A test of a bug in older clients of the protocol.
package struct Regression: TestTrait, SuiteTrait {
    /// A description of the bug.
    package let bug: String

    package var comments: [Comment] { [Comment(rawValue: bug)] }
}

extension Trait where Self == Regression {
    /// - Parameter bug: A description of the bug in older clients.
    package static func regression(_ bug: String) -> Self { Regression(bug: bug) }
}
