/// The reason why a terminal cannot be used.
public enum TerminalError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The descriptor is not that of a terminal, or the terminal is gone.
    case cannotReadKeys

    /// A description of the error.
    public var description: String {
        switch self {
        case .cannotReadKeys: "the terminal cannot be set to read single keys"
        }
    }
}
