package import Basics

/// A dictionary keyed by Matrix identifiers: rooms, events, users, types. Keys are compared by their bytes, as servers
/// compare them. In a dictionary keyed by `String`, two ids that only look alike would share an entry.
public struct MXDictionary<Value> {
    private var entries: [ByteKey: Value] = [:]

    /// Creates an empty dictionary.
    public init() {}

    package init(_ entries: [ByteKey: Value]) { self.entries = entries }

    /// Accesses the value of an identifier. Setting `nil` removes it.
    public subscript(key: String) -> Value? {
        get { entries[ByteKey(key)] }
        _modify { yield &entries[ByteKey(key)] }
    }

    /// Accesses the value of an identifier, or `value` if it has none.
    public subscript(key: String, default value: @autoclosure () -> Value) -> Value {
        get { entries[ByteKey(key), default: value()] }
        _modify { yield &entries[ByteKey(key), default: value()] }
    }

    /// The number of entries.
    public var count: Int { entries.count }

    /// Whether the dictionary is empty.
    public var isEmpty: Bool { entries.isEmpty }

    /// The identifiers, in no particular order.
    public var keys: [String] { entries.keys.map(\.string) }

    /// The values, in no particular order.
    public var values: [Value] { Array(entries.values) }

    /// Removes an entry.
    ///
    /// - Returns: The removed value; `nil` if there was none.
    @discardableResult
    public mutating func removeValue(forKey key: String) -> Value? { entries.removeValue(forKey: ByteKey(key)) }

    /// Returns a dictionary with the same keys and the transformed values.
    public func mapValues<Other>(_ transform: (Value) throws -> Other) rethrows -> MXDictionary<Other> {
        MXDictionary<Other>(try entries.mapValues(transform))
    }
}

/// A sequence of the entries, in no particular order.
extension MXDictionary: Sequence {
    /// Returns an iterator over the entries, in no particular order.
    public func makeIterator() -> AnyIterator<(key: String, value: Value)> {
        var iterator = entries.makeIterator()
        return AnyIterator { iterator.next().map { ($0.key.string, $0.value) } }
    }
}

extension MXDictionary: ExpressibleByDictionaryLiteral {
    /// Creates a dictionary from a literal. If a key occurs several times, its last value is used.
    public init(dictionaryLiteral elements: (String, Value)...) {
        for (key, value) in elements { entries[ByteKey(key)] = .some(value) }
    }
}

extension MXDictionary: Sendable where Value: Sendable {}
extension MXDictionary: Equatable where Value: Equatable {}
extension MXDictionary: Hashable where Value: Hashable {}

/// Encoded as an object with the identifiers as its keys.
extension MXDictionary: Codable where Value: Codable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Decodes the dictionary from an object.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Name.self)
        for name in object.allKeys {
            entries[ByteKey(name.stringValue)] = .some(try object.decode(Value.self, forKey: name))
        }
    }

    /// Encodes the dictionary as an object.
    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Name.self)
        for (key, value) in entries { try object.encode(value, forKey: Name(stringValue: key.string)) }
    }
}
