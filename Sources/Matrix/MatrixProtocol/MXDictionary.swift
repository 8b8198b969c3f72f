package import Basics

/// A dictionary by identifiers of Matrix: rooms, events, users, types. Keys compare by their bytes, as servers compare them;
/// in a dictionary keyed by `String`, two ids that only look alike would share an entry.
public struct MXDictionary<Value> {
    private var entries: [ByteKey: Value] = [:]

    /// Makes an empty dictionary.
    public init() {}

    package init(_ entries: [ByteKey: Value]) { self.entries = entries }

    /// The value of an identifier; setting nil removes it.
    public subscript(key: String) -> Value? {
        get { entries[ByteKey(key)] }
        _modify { yield &entries[ByteKey(key)] }
    }

    /// The value of an identifier, `value` if it has none.
    public subscript(key: String, default value: @autoclosure () -> Value) -> Value {
        get { entries[ByteKey(key), default: value()] }
        _modify { yield &entries[ByteKey(key), default: value()] }
    }

    /// How many entries there are.
    public var count: Int { entries.count }

    /// Whether there is no entry.
    public var isEmpty: Bool { entries.isEmpty }

    /// The identifiers, in no order.
    public var keys: [String] { entries.keys.map(\.string) }

    /// The values, in no order.
    public var values: [Value] { Array(entries.values) }

    /// Removes an entry.
    ///
    /// - Returns: Its value; nil if there was none.
    @discardableResult
    public mutating func removeValue(forKey key: String) -> Value? { entries.removeValue(forKey: ByteKey(key)) }

    /// Transforms the values and keeps the keys.
    public func mapValues<Other>(_ transform: (Value) throws -> Other) rethrows -> MXDictionary<Other> {
        MXDictionary<Other>(try entries.mapValues(transform))
    }
}

/// Its entries, in no order.
extension MXDictionary: Sequence {
    /// Walks through the entries, in no order.
    public func makeIterator() -> AnyIterator<(key: String, value: Value)> {
        var iterator = entries.makeIterator()
        return AnyIterator { iterator.next().map { ($0.key.string, $0.value) } }
    }
}

extension MXDictionary: ExpressibleByDictionaryLiteral {
    /// The last one of several entries with the same key counts.
    public init(dictionaryLiteral elements: (String, Value)...) {
        for (key, value) in elements { entries[ByteKey(key)] = .some(value) }
    }
}

extension MXDictionary: Sendable where Value: Sendable {}
extension MXDictionary: Equatable where Value: Equatable {}
extension MXDictionary: Hashable where Value: Hashable {}

/// An object with the identifiers as its keys.
extension MXDictionary: Codable where Value: Codable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Decodes an object.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Name.self)
        for name in object.allKeys {
            entries[ByteKey(name.stringValue)] = .some(try object.decode(Value.self, forKey: name))
        }
    }

    /// Encodes an object.
    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Name.self)
        for (key, value) in entries { try object.encode(value, forKey: Name(stringValue: key.string)) }
    }
}
