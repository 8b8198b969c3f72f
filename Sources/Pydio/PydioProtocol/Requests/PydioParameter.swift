/// The value of a request's parameter.
public enum PydioParameter: Sendable, Hashable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    case text(String)
    /// Sent as `name[]=…` for each.
    case list([String])

    /// A text.
    public init(stringLiteral value: String) {
        self = .text(value)
    }

    /// A list.
    public init(arrayLiteral elements: String...) {
        self = .list(elements)
    }
}
