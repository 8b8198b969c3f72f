/// The elements of an array, in order.
struct ArrayContainer: UnkeyedDecodingContainer {
    private let document: JSONDocument
    private let array: UInt32
    private var next: UInt32
    private var position: UInt32 = 0
    private let length: UInt32

    init(_ document: JSONDocument, _ array: UInt32) {
        self.document = document
        self.array = array
        next = array + 2
        length = document[array].count
    }

    var codingPath: [any CodingKey] { document.path(to: array) }
    var count: Int? { Int(length) }
    var currentIndex: Int { Int(position) }
    var isAtEnd: Bool { position >= length }

    /// Reads the next element. On failure, it stays the next one.
    @inline(__always)
    private mutating func take<Value>(_ type: Any.Type, _ body: (UInt32) throws -> Value) throws -> Value {
        guard position < length else { throw atEnd(type) }
        let value = try body(next)
        advance()
        return value
    }

    /// `nil` for null and after the last element.
    @inline(__always)
    private mutating func takeIfPresent<Value>(_ body: (UInt32) throws -> Value) throws -> Value? {
        guard position < length else {
            position += 1
            return nil
        }
        let value = document.isNull(next) ? nil : try body(next)
        advance()
        return value
    }

    @inline(__always)
    private mutating func advance() {
        next = document.node(after: next)
        position += 1
    }

    @inline(never)
    private func atEnd(_ type: Any.Type) -> DecodingError {
        .valueNotFound(
            type,
            .init(
                codingPath: codingPath + [PathKey(position: Int(position))],
                debugDescription: "The array has no more elements."))
    }

    mutating func decodeNil() throws -> Bool {
        guard position < length else { throw atEnd(Never.self) }
        guard document.isNull(next) else { return false }
        advance()
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try take(type, document.bool) }
    mutating func decode(_ type: String.Type) throws -> String { try take(type, document.string) }
    mutating func decode(_ type: Double.Type) throws -> Double { try take(type, document.float) }
    mutating func decode(_ type: Float.Type) throws -> Float { try take(type, document.float) }
    mutating func decode(_ type: Int.Type) throws -> Int { try take(type, document.integer) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try take(type, document.integer) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try take(type, document.integer) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try take(type, document.integer) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try take(type, document.integer) }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try take(type, document.integer) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try take(type, document.integer) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try take(type, document.integer) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try take(type, document.integer) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try take(type, document.integer) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try take(type, document.integer) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try take(type, document.integer) }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try take(type, document.value) }

    mutating func decodeIfPresent(_ type: Bool.Type) throws -> Bool? { try takeIfPresent(document.bool) }
    mutating func decodeIfPresent(_ type: String.Type) throws -> String? { try takeIfPresent(document.string) }
    mutating func decodeIfPresent(_ type: Double.Type) throws -> Double? { try takeIfPresent(document.float) }
    mutating func decodeIfPresent(_ type: Float.Type) throws -> Float? { try takeIfPresent(document.float) }
    mutating func decodeIfPresent(_ type: Int.Type) throws -> Int? { try takeIfPresent(document.integer) }
    mutating func decodeIfPresent(_ type: Int8.Type) throws -> Int8? { try takeIfPresent(document.integer) }
    mutating func decodeIfPresent(_ type: Int16.Type) throws -> Int16? { try takeIfPresent(document.integer) }
    mutating func decodeIfPresent(_ type: Int32.Type) throws -> Int32? { try takeIfPresent(document.integer) }
    mutating func decodeIfPresent(_ type: Int64.Type) throws -> Int64? { try takeIfPresent(document.integer) }
    mutating func decodeIfPresent(_ type: UInt.Type) throws -> UInt? { try takeIfPresent(document.integer) }
    mutating func decodeIfPresent(_ type: UInt8.Type) throws -> UInt8? { try takeIfPresent(document.integer) }
    mutating func decodeIfPresent(_ type: UInt16.Type) throws -> UInt16? { try takeIfPresent(document.integer) }
    mutating func decodeIfPresent(_ type: UInt32.Type) throws -> UInt32? { try takeIfPresent(document.integer) }
    mutating func decodeIfPresent(_ type: UInt64.Type) throws -> UInt64? { try takeIfPresent(document.integer) }
    mutating func decodeIfPresent<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        try takeIfPresent(document.value)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let document = document
        return try take(KeyedDecodingContainer<NestedKey>.self) {
            try ValueDecoder(document: document, node: $0).container(keyedBy: type)
        }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let document = document
        return try take((any UnkeyedDecodingContainer).self) {
            try ValueDecoder(document: document, node: $0).unkeyedContainer()
        }
    }

    mutating func superDecoder() throws -> any Decoder {
        let document = document
        return try take((any Decoder).self) { ValueDecoder(document: document, node: $0) }
    }
}
