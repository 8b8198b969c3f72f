public import FoundationEssentials

/// Decodes types of your own from JSON, as Foundation's `JSONDecoder` does, at a fraction of its cost.
///
/// The options have the names and meanings of those of `JSONDecoder`, and both give the same values and the same errors,
/// but for this:
///
/// - The whole text must be JSON (RFC 8259) in UTF-8, without a byte order mark, even where nothing is read. `JSONDecoder`
///   also takes UTF-16 and UTF-32, a comma behind the last member or element, and malformed numbers and escapes in what
///   the type does not ask for.
/// - Of equal keys the last counts, and `allKeys` has the order of the text.
/// - Keys are equal if their bytes are: `é` in two spellings makes two keys.
/// - Errors for numbers, dates, data and URLs that cannot be represented name their place. Those of `JSONDecoder` have an
///   empty or a shorter path.
/// - Keys in coding paths are of a type of this module, with the same texts.
/// - A number with a fraction is never read as a whole number, however large it is. A whole number that fits the type is
///   read however it is spelled, such as `9223372036854775807.0`, and one of 128 bits may have an exponent.
/// - Texts of more than 512 MiB are refused. Both refuse more than 512 objects and arrays inside one another.
/// - JSON5 and texts without their outermost braces are not read.
public struct JSONBytesDecoder: Sendable {
    /// How dates are written.
    public enum DateDecodingStrategy: Sendable {
        /// As `Date` decodes itself: seconds since 2001. The default.
        case deferredToDate
        case secondsSince1970
        case millisecondsSince1970
        /// As RFC 3339 has it: `2026-01-31T12:00:00Z`.
        case iso8601
        case custom(@Sendable (_ decoder: any Decoder) throws -> Date)
    }

    /// How bytes are written.
    public enum DataDecodingStrategy: Sendable {
        /// As `Data` decodes itself: an array of numbers.
        case deferredToData
        /// The default.
        case base64
        case custom(@Sendable (_ decoder: any Decoder) throws -> Data)
    }

    /// How infinities and NaN are written, which JSON's numbers cannot express.
    public enum NonConformingFloatDecodingStrategy: Sendable {
        /// Not at all. The default.
        case `throw`
        case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// What the keys of a type are called in JSON. Dictionaries keep their keys in any case.
    public enum KeyDecodingStrategy: Sendable {
        /// The same. The default.
        case useDefaultKeys
        /// `one_two` is read as `oneTwo`. Underscores at the beginning and the end stay.
        case convertFromSnakeCase
        /// The closure returns the key for the last one of a path.
        case custom(@Sendable (_ codingPath: [any CodingKey]) -> any CodingKey)
    }

    /// How dates are written: as `Date` decodes itself by default.
    public var dateDecodingStrategy = DateDecodingStrategy.deferredToDate
    /// How bytes are written: in base64 by default.
    public var dataDecodingStrategy = DataDecodingStrategy.base64
    /// How infinities and NaN are written: not at all by default.
    public var nonConformingFloatDecodingStrategy = NonConformingFloatDecodingStrategy.throw
    /// What keys are called in JSON: the same as in the type by default.
    public var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys
    /// What types find in `userInfo` of their decoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// A decoder with the defaults of all options.
    public init() {}

    /// The value that is all of `data`.
    ///
    /// - Throws: `DecodingError`, or what the type throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try data.withUnsafeBytes { bytes in
            try decode(type, capacity: bytes.count) { output in
                UnsafeMutableRawBufferPointer(output).copyMemory(from: bytes)
                return bytes.count
            }
        }
    }

    /// The value that is all of `bytes`.
    ///
    /// - Throws: `DecodingError`, or what the type throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try decode(type, capacity: bytes.count) { output in
            output.update(fromContentsOf: bytes)
        }
    }

    /// - Parameters:
    ///   - capacity: Bytes.
    ///   - write: Writes the text, and returns how long it is.
    package func decode<Value: Decodable>(
        _ type: Value.Type, capacity: Int, write: (UnsafeMutableBufferPointer<UInt8>) -> Int
    ) throws -> Value {
        guard let document = JSONDocument(capacity: capacity, options: self, write: write) else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "The data is not valid JSON."))
        }
        return try document.value(JSONDocument.root)
    }
}
