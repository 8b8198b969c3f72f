/// The decoder of one value of a document.
struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let document: JSONDocument
    let node: UInt32

    var codingPath: [any CodingKey] { document.path(to: node) }

    var userInfo: [CodingUserInfoKey: Any] { document.options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard document.kind(node) == .object else { throw document.mismatch([String: Any].self, node) }
        return KeyedDecodingContainer(ObjectContainer<Key>(document, node))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard document.kind(node) == .array else { throw document.mismatch([Any].self, node) }
        return ArrayContainer(document, node)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { document.isNull(node) }

    func decode(_ type: Bool.Type) throws -> Bool { try document.bool(node) }
    func decode(_ type: String.Type) throws -> String { try document.string(node) }
    func decode(_ type: Double.Type) throws -> Double { try document.float(node) }
    func decode(_ type: Float.Type) throws -> Float { try document.float(node) }
    func decode(_ type: Int.Type) throws -> Int { try document.integer(node) }
    func decode(_ type: Int8.Type) throws -> Int8 { try document.integer(node) }
    func decode(_ type: Int16.Type) throws -> Int16 { try document.integer(node) }
    func decode(_ type: Int32.Type) throws -> Int32 { try document.integer(node) }
    func decode(_ type: Int64.Type) throws -> Int64 { try document.integer(node) }
    func decode(_ type: Int128.Type) throws -> Int128 { try document.integer(node) }
    func decode(_ type: UInt.Type) throws -> UInt { try document.integer(node) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try document.integer(node) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try document.integer(node) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try document.integer(node) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try document.integer(node) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try document.integer(node) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try document.value(node) }
}
