/// Lookup by text, so that code that used `String` keys reads as before.
extension Dictionary where Key == ByteKey {
    package subscript(text: String) -> Value? {
        get { self[ByteKey(text)] }
        _modify { yield &self[ByteKey(text)] }
    }

    package subscript(text: String, default value: @autoclosure () -> Value) -> Value {
        get { self[ByteKey(text), default: value()] }
        _modify { yield &self[ByteKey(text), default: value()] }
    }

    @discardableResult
    package mutating func removeValue(forKey text: String) -> Value? { removeValue(forKey: ByteKey(text)) }
}

/// Lookup by text, as for dictionaries.
extension Set where Element == ByteKey {
    package init(texts: some Sequence<String>) { self.init(texts.lazy.map { ByteKey($0) }) }

    package func contains(_ text: String) -> Bool { contains(ByteKey(text)) }

    /// - Returns: Whether the element was inserted.
    @discardableResult
    package mutating func insert(_ text: String) -> Bool { insert(ByteKey(text)).inserted }

    /// - Returns: Whether the element was present.
    @discardableResult
    package mutating func remove(_ text: String) -> Bool { remove(ByteKey(text)) != nil }
}
