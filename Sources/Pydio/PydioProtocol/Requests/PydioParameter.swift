/// The value of a request's parameter.
public enum PydioParameter: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    case text(String)
    /// A list, sent as `name[]=…` for each element.
    case list([String])

    /// Creates a text.
    public init(stringLiteral value: String) {
        self = .text(value)
    }

    /// Creates a list.
    public init(arrayLiteral elements: String...) {
        self = .list(elements)
    }
}
