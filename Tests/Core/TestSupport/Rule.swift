package import Testing

/// The rules of Documentation/Rules/encryption.md that a test covers. `Lab/encryption-rules` lists them.
package struct Rule: TestTrait, SuiteTrait {
    /// The names of rules, such as `R14`.
    package let names: [String]

    package var comments: [Comment] { names.map { "rule \($0)" } }
}

extension Trait where Self == Rule {
    /// Marks a test that covers rules of Documentation/Rules/encryption.md.
    package static func rule(_ names: String...) -> Self { Rule(names: names) }
}
