import FoundationEssentials

extension JSONBytesDecoder.KeyDecodingStrategy {
    /// Returns a type's key for a key of the text.
    func converted(_ key: String, after path: [any CodingKey]) -> String {
        switch self {
        case .useDefaultKeys: key
        case .convertFromSnakeCase: Self.camelCase(key)
        case .custom(let convert): convert(path + [PathKey(key)]).stringValue
        }
    }

    private static func camelCase(_ key: String) -> String {
        guard let first = key.firstIndex(where: { $0 != "_" }), let last = key.lastIndex(where: { $0 != "_" }) else {
            return key
        }
        let words = key[first...last].split(separator: "_")
        guard words.count > 1, let firstWord = words.first else { return key }
        let joined = firstWord.lowercased() + words.dropFirst().map(\.capitalized).joined()
        return key[..<first] + joined + key[key.index(after: last)...]
    }
}
