/// Writes a value's state for the store: numbers as varints, everything else preceded by its length.
struct StateWriter {
    private var parts: [SecretBytes]

    /// - Parameter version: The version of the format. Readers refuse others.
    init(version: UInt8) { parts = [SecretBytes([version])] }

    mutating func append(_ number: some FixedWidthInteger & UnsignedInteger) {
        var bytes: [UInt8] = []
        Varint.append(UInt64(number), to: &bytes)
        parts.append(SecretBytes(bytes))
    }

    mutating func append(_ flag: Bool) { append(flag ? 1 as UInt8 : 0) }

    mutating func append(_ secret: SecretBytes) {
        append(UInt(secret.count))
        parts.append(secret)
    }

    mutating func append(_ key: some PublicKeyBytes) { append(SecretBytes(key.bytes)) }

    mutating func append(_ text: String) { append(SecretBytes(text.utf8)) }

    mutating func append<Element>(_ list: [Element], _ append: (inout StateWriter, Element) -> Void) {
        self.append(UInt(list.count))
        for element in list { append(&self, element) }
    }

    mutating func append<Value>(_ value: Value?, _ append: (inout StateWriter, Value) -> Void) {
        self.append(value.map { [$0] } ?? [], append)
    }

    var state: SecretBytes { SecretBytes(joining: parts) }
}

/// Reads the output of a ``StateWriter``. Throws `state` for anything else, since a file can be damaged.
struct StateReader {
    private let state: SecretBytes
    private var position = 1

    init(_ state: SecretBytes, version: UInt8) throws(EncryptionError) {
        guard state.withUnsafeBytes({ $0.first }) == version else { throw .state }
        self.state = state
    }

    mutating func number<Number: FixedWidthInteger & UnsignedInteger>(_: Number.Type = Number.self)
        throws(EncryptionError)
        -> Number
    {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            guard position < state.count else { throw .state }
            let byte = state.withUnsafeBytes { [position] in UInt64($0[position]) }
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80 {
                guard let number = Number(exactly: value) else { throw .state }
                return number
            }
        }
        throw .state
    }

    mutating func flag() throws(EncryptionError) -> Bool { try number(UInt8.self) != 0 }

    mutating func secret() throws(EncryptionError) -> SecretBytes {
        let count = try number(UInt.self)
        guard count <= UInt(state.count - position) else { throw .state }
        defer { position += Int(count) }
        return state[position..<position + Int(count)]
    }

    mutating func key<Key: PublicKeyBytes>(_: Key.Type = Key.self) throws(EncryptionError) -> Key {
        let bytes = try secret().withUnsafeBytes { Array($0) }
        guard bytes.count == 32 else { throw .state }
        return Key(wellFormed: bytes)
    }

    mutating func text() throws(EncryptionError) -> String {
        try secret().withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    mutating func list<Element>(
        _ element: (inout StateReader) throws(EncryptionError) -> Element
    ) throws(EncryptionError) -> [Element] {
        let count = try number(UInt.self)
        guard count <= UInt(state.count - position) else { throw .state }  // each takes at least a byte
        var list: [Element] = []
        for _ in 0..<count { list.append(try element(&self)) }
        return list
    }

    mutating func optional<Value>(
        _ value: (inout StateReader) throws(EncryptionError) -> Value
    ) throws(EncryptionError) -> Value? {
        try list(value).last
    }

    /// Checks that nothing follows.
    func end() throws(EncryptionError) {
        guard position == state.count else { throw .state }
    }
}
