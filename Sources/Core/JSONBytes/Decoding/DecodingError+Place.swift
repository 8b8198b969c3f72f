extension DecodingError {
    /// The error and its location, without the values.
    package var place: String {
        switch self {
        case .keyNotFound(let key, let context):
            "there is no “\(key.stringValue)” at \(Self.path(context.codingPath))"
        case .typeMismatch(let type, let context): "no \(type) at \(Self.path(context.codingPath))"
        case .valueNotFound(let type, let context): "null instead of \(type) at \(Self.path(context.codingPath))"
        case .dataCorrupted(let context): "malformed at \(Self.path(context.codingPath))"
        @unknown default: "its data does not fit"
        }
    }

    private static func path(_ path: [any CodingKey]) -> String {
        path.isEmpty ? "the top" : path.map(\.stringValue).joined(separator: ".")
    }
}
