/// What Tab makes of the text before the cursor.
public struct Completion: Hashable, Sendable {
    /// What stands before the cursor afterwards.
    public var text: String
    /// What the last word can become; one that fits alone is in the text already.
    public var candidates: [String]

    /// A text, and what its last word can become.
    public init(text: String, candidates: [String] = []) { (self.text, self.candidates) = (text, candidates) }
}
