struct ObjectContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let document: JSONDocument
    private let object: UInt32

    init(_ document: JSONDocument, _ object: UInt32) {
        self.document = document
        self.object = object
        switch document.options.keyDecodingStrategy {
        case .useDefaultKeys: break
        case .convertFromSnakeCase, .custom: document.convertKeys(of: object)
        }
    }

    var codingPath: [any CodingKey] { document.path(to: object) }

    var allKeys: [Key] { document.keys(of: object).compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { document.value(of: key, in: object) != nil }

    @inline(__always)
    private func node(_ key: Key) throws -> UInt32 {
        guard let node = document.value(of: key, in: object) else { throw notFound(key) }
        return node
    }

    /// Also nil for null.
    @inline(__always)
    private func nodeIfPresent(_ key: Key) -> UInt32? {
        guard let node = document.value(of: key, in: object), !document.isNull(node) else { return nil }
        return node
    }

    @inline(never)
    private func notFound(_ key: Key) -> DecodingError {
        .keyNotFound(
            key, .init(codingPath: codingPath, debugDescription: "There is no key “\(key.stringValue)”."))
    }

    func decodeNil(forKey key: Key) throws -> Bool { document.isNull(try node(key)) }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try document.bool(node(key)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try document.string(node(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try document.float(node(key)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try document.float(node(key)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try document.integer(node(key)) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try document.integer(node(key)) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try document.integer(node(key)) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try document.integer(node(key)) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try document.integer(node(key)) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try document.integer(node(key)) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try document.integer(node(key)) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try document.integer(node(key)) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try document.integer(node(key)) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try document.integer(node(key)) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try document.integer(node(key)) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try document.integer(node(key)) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try document.value(node(key))
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try nodeIfPresent(key).map(document.bool)
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try nodeIfPresent(key).map(document.string)
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try nodeIfPresent(key).map(document.float)
    }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try nodeIfPresent(key).map(document.float)
    }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try nodeIfPresent(key).map(document.integer)
    }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
        try nodeIfPresent(key).map(document.integer)
    }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
        try nodeIfPresent(key).map(document.integer)
    }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
        try nodeIfPresent(key).map(document.integer)
    }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
        try nodeIfPresent(key).map(document.integer)
    }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
        try nodeIfPresent(key).map(document.integer)
    }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
        try nodeIfPresent(key).map(document.integer)
    }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
        try nodeIfPresent(key).map(document.integer)
    }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
        try nodeIfPresent(key).map(document.integer)
    }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
        try nodeIfPresent(key).map(document.integer)
    }
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try nodeIfPresent(key).map(document.value)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoder(node(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(node(key)).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { superDecoder(PathKey.super) }

    func superDecoder(forKey key: Key) -> any Decoder { superDecoder(key) }

    private func superDecoder(_ key: some CodingKey) -> any Decoder {
        decoder(document.value(of: key, in: object) ?? document.missing(key, in: object))
    }

    private func decoder(_ node: UInt32) -> ValueDecoder { ValueDecoder(document: document, node: node) }
}
