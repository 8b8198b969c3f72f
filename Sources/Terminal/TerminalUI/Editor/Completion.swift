/// The result of pressing Tab, for the text before the cursor.
public struct Completion: Hashable, Sendable {
    /// The new text before the cursor.
    public var text: String
    /// The possible completions of the last word. A single match is already part of the text.
    public var candidates: [String]

    /// Creates a completion from a text and the candidates for its last word.
    public init(text: String, candidates: [String] = []) { (self.text, self.candidates) = (text, candidates) }
}
