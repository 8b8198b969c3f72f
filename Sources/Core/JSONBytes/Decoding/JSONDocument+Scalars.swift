extension JSONDocument {
    @inline(__always)
    func bool(_ node: UInt32) throws -> Bool {
        switch kind(node) {
        case .true: return true
        case .false: return false
        case .null: throw typeMismatch(Bool.self, node)
        case .object, .array, .string, .number: throw typeMismatch(Bool.self, node)
        }
    }

    @inline(__always)
    func string(_ node: UInt32) throws -> String {
        guard kind(node) == .string else { throw mismatch(String.self, node) }
        return text(of: node)
    }

    @inline(__always)
    func integer<Value: FixedWidthInteger>(_ node: UInt32) throws -> Value {
        guard kind(node) == .number else { throw mismatch(Value.self, node) }
        let value = self[node].isSpecial ? nil : NumberText.wholeNumber(bytes(node)).flatMap { Value(exactly: $0) }
        guard let value = value ?? NumberText.integer(bytes(node)) else { throw doesNotFit(Value.self, node) }
        return value
    }

    func float(_ node: UInt32) throws -> Double {
        guard kind(node) == .number else { return try nonConforming(node) }
        guard let value = NumberText.double(bytes(node)) else { throw doesNotFit(Double.self, node) }
        return value
    }

    func float(_ node: UInt32) throws -> Float {
        guard kind(node) == .number else { return try nonConforming(node) }
        guard let value: Float = NumberText.float(bytes(node)) else { throw doesNotFit(Float.self, node) }
        return value
    }

    private func nonConforming<Value: BinaryFloatingPoint>(_ node: UInt32) throws -> Value {
        if kind(node) == .string, !self[node].isSpecial,
            case .convertFromString(let positive, let negative, let nan) = options.nonConformingFloatDecodingStrategy
        {
            let text = text(of: node).utf8
            if text.elementsEqual(positive.utf8) { return .infinity }
            if text.elementsEqual(negative.utf8) { return -.infinity }
            if text.elementsEqual(nan.utf8) { return .nan }
        }
        throw mismatch(Value.self, node)
    }

    // MARK: Errors

    /// The value is null, or has another type than requested.
    @inline(never)
    func mismatch(_ type: Any.Type, _ node: UInt32) -> DecodingError {
        guard kind(node) == .null else { return typeMismatch(type, node) }
        return .valueNotFound(
            type, .init(codingPath: path(to: node), debugDescription: "There is null instead of \(type)."))
    }

    @inline(never)
    func typeMismatch(_ type: Any.Type, _ node: UInt32) -> DecodingError {
        .typeMismatch(
            type,
            .init(codingPath: path(to: node), debugDescription: "There is \(kind(node).name) instead of \(type)."))
    }

    @inline(never)
    func doesNotFit(_ type: Any.Type, _ node: UInt32) -> DecodingError {
        corrupted("The number does not fit into \(type).", node)
    }

    @inline(never)
    func corrupted(_ description: String, _ node: UInt32) -> DecodingError {
        .dataCorrupted(.init(codingPath: path(to: node), debugDescription: description))
    }
}

extension JSONNode.Kind {
    fileprivate var name: String {
        switch self {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .number: "a number"
        case .true, .false: "a boolean"
        case .null: "null"
        }
    }
}
