package import Testing

/// Which rules of Documentation/Rules/encryption.md a test holds. `Lab/encryption-rules` lists them.
package struct Rule: TestTrait, SuiteTrait {
    /// Such as `R14`.
    package let names: [String]

    package var comments: [Comment] { names.map { "rule \($0)" } }
}

extension Trait where Self == Rule {
    /// The test holds a rule of Documentation/Rules/encryption.md.
    package static func rule(_ names: String...) -> Self { Rule(names: names) }
}
