package import Testing

/// Which rules of the reference of Matrix's encryption a test holds. `Scripts/encryption-rules` lists them.
package struct Rule: TestTrait, SuiteTrait {
    /// Such as `R14`.
    package let names: [String]

    package var comments: [Comment] { names.map { "rule \($0)" } }
}

extension Trait where Self == Rule {
    /// The test holds a rule of the reference of Matrix's encryption.
    package static func rule(_ names: String...) -> Self { Rule(names: names) }
}
