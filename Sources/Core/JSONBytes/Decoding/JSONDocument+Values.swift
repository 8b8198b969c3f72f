import FoundationEssentials

extension JSONDocument {
    /// Returns a value of any type. Types that Foundation decodes specially are read the same way; all others decode
    /// themselves.
    @inline(__always)
    func value<Value: Decodable>(_ node: UInt32) throws -> Value {
        // These save strings and numbers in arrays, dictionaries and optionals the detour through `init(from:)`.
        if Value.self == String.self { return unsafeBitCast(try string(node), to: Value.self) }
        if Value.self == Double.self { return unsafeBitCast(try float(node) as Double, to: Value.self) }
        if Value.self == Int.self { return unsafeBitCast(try integer(node) as Int, to: Value.self) }
        return try otherValue(node)
    }

    @inline(never)
    private func otherValue<Value: Decodable>(_ node: UInt32) throws -> Value {
        if Value.self == Bool.self { return unsafeBitCast(try bool(node), to: Value.self) }
        if Value.self == Date.self { return unsafeBitCast(try date(node), to: Value.self) }
        if Value.self == Data.self { return unsafeBitCast(try data(node), to: Value.self) }
        if Value.self == URL.self { return unsafeBitCast(try url(node), to: Value.self) }
        if Value.self == Decimal.self { return unsafeBitCast(try decimal(node), to: Value.self) }
        switch options.keyDecodingStrategy {
        case .useDefaultKeys: break
        case .convertFromSnakeCase, .custom:
            if let type = Value.self as? any KeysAsTheyStand.Type { return try dictionary(node, as: type) }
        }
        return try Value(from: decoder(node))
    }

    private func decoder(_ node: UInt32) -> ValueDecoder { ValueDecoder(document: self, node: node) }

    /// The keys of a dictionary are data, so no strategy converts them.
    private func dictionary<Value>(_ node: UInt32, as type: any KeysAsTheyStand.Type) throws -> Value {
        guard kind(node) == .object else { throw mismatch([String: Any].self, node) }
        keepKeys(of: node)
        guard let value = try type.members(of: node, in: self) as? Value else {
            throw typeMismatch(Value.self, node)
        }
        return value
    }

    private func date(_ node: UInt32) throws -> Date {
        if isNull(node) { throw mismatch(Date.self, node) }
        switch options.dateDecodingStrategy {
        case .deferredToDate: return try Date(from: decoder(node))
        case .secondsSince1970: return Date(timeIntervalSince1970: try float(node))
        case .millisecondsSince1970: return Date(timeIntervalSince1970: try float(node) / 1000)
        case .iso8601:
            guard let date = try? Date.ISO8601FormatStyle().parse(string(node)) else {
                guard kind(node) == .string else { throw mismatch(String.self, node) }
                throw corrupted("The date is not in the form of ISO 8601.", node)
            }
            return date
        case .custom(let date): return try date(decoder(node))
        }
    }

    private func data(_ node: UInt32) throws -> Data {
        if isNull(node) { throw mismatch(Data.self, node) }
        switch options.dataDecodingStrategy {
        case .deferredToData: return try Data(from: decoder(node))
        case .base64:
            guard let data = Data(base64Encoded: try string(node)) else {
                throw corrupted("The data is not valid base64.", node)
            }
            return data
        case .custom(let data): return try data(decoder(node))
        }
    }

    private func url(_ node: UInt32) throws -> URL {
        if isNull(node) { throw mismatch(URL.self, node) }
        guard let url = URL(string: try string(node)) else { throw corrupted("The text is not a URL.", node) }
        return url
    }

    private func decimal(_ node: UInt32) throws -> Decimal {
        guard kind(node) == .number else { throw mismatch(Decimal.self, node) }
        guard let decimal = Decimal(string: String(decoding: bytes(node), as: UTF8.self)) else {
            throw doesNotFit(Decimal.self, node)
        }
        return decimal
    }
}

/// Dictionaries whose keys are strings.
private protocol KeysAsTheyStand {
    static func members(of object: UInt32, in document: JSONDocument) throws -> Any
}

extension Dictionary: KeysAsTheyStand where Key == String, Value: Decodable {
    fileprivate static func members(of object: UInt32, in document: JSONDocument) throws -> Any {
        var members: [String: Value] = [:]
        members.reserveCapacity(Int(document[object].count))
        var key = object + 2
        while key < document[object].tail {
            members[document.text(of: key)] = try document.value(key + 1) as Value
            key = document.node(after: key + 1)
        }
        return members
    }
}
