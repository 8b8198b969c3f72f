public import FoundationEssentials

/// Decodes your types from JSON, like Foundation's `JSONDecoder`, at a fraction of its cost.
///
/// The options have the same names and meanings as those of `JSONDecoder`, and both produce the same values and errors,
/// with these exceptions:
///
/// - The whole text must be JSON (RFC 8259) in UTF-8, without a byte order mark, even where nothing is read.
///   `JSONDecoder` also accepts UTF-16 and UTF-32, a comma after the last member or element, and malformed numbers and
///   escapes in parts that the type does not read.
/// - Of equal keys the last counts, and `allKeys` has the order of the text.
/// - Keys are equal if their bytes are: `é` in two spellings makes two keys.
/// - Errors for numbers, dates, data and URLs that cannot be represented contain their coding path. Those of
///   `JSONDecoder` have an empty or a shorter path.
/// - Keys in coding paths have a type of this module, with the same texts.
/// - A number with a fraction is never read as a whole number, however large it is. A whole number that fits the type
///   is read in any spelling, such as `9223372036854775807.0`, and a 128-bit one may have an exponent.
/// - Texts of more than 512 MiB are refused. Both decoders refuse more than 512 levels of objects and arrays.
/// - JSON5 and texts without their outermost braces are not supported.
public struct JSONBytesDecoder: Sendable {
    /// The format of dates.
    public enum DateDecodingStrategy: Sendable {
        /// As `Date` decodes itself: seconds since 2001. The default.
        case deferredToDate
        case secondsSince1970
        case millisecondsSince1970
        /// RFC 3339: `2026-01-31T12:00:00Z`.
        case iso8601
        case custom(@Sendable (_ decoder: any Decoder) throws -> Date)
    }

    /// The format of bytes.
    public enum DataDecodingStrategy: Sendable {
        /// As `Data` decodes itself: an array of numbers.
        case deferredToData
        /// Base64. The default.
        case base64
        case custom(@Sendable (_ decoder: any Decoder) throws -> Data)
    }

    /// The format of infinities and NaN, which JSON's numbers cannot express.
    public enum NonConformingFloatDecodingStrategy: Sendable {
        /// Throws an error. The default.
        case `throw`
        case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The names of a type's keys in JSON. The keys of dictionaries are never converted.
    public enum KeyDecodingStrategy: Sendable {
        /// The names as in the type. The default.
        case useDefaultKeys
        /// `one_two` is read as `oneTwo`. Leading and trailing underscores stay.
        case convertFromSnakeCase
        /// The closure returns the key to use for the last one of a path.
        case custom(@Sendable (_ codingPath: [any CodingKey]) -> any CodingKey)
    }

    /// The format of dates; by default, `Date` decodes itself.
    public var dateDecodingStrategy = DateDecodingStrategy.deferredToDate
    /// The format of bytes; by default, base64.
    public var dataDecodingStrategy = DataDecodingStrategy.base64
    /// The format of infinities and NaN; by default, they throw an error.
    public var nonConformingFloatDecodingStrategy = NonConformingFloatDecodingStrategy.throw
    /// The names of keys in JSON; by default, the same as in the type.
    public var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys
    /// The `userInfo` that types find in their decoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Creates a decoder with default options.
    public init() {}

    /// Decodes a value from all of `data`.
    ///
    /// - Throws: `DecodingError`, or an error of the type.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try data.withUnsafeBytes { bytes in
            try decode(type, capacity: bytes.count) { output in
                UnsafeMutableRawBufferPointer(output).copyMemory(from: bytes)
                return bytes.count
            }
        }
    }

    /// Decodes a value from all of `bytes`.
    ///
    /// - Throws: `DecodingError`, or an error of the type.
    public func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try decode(type, capacity: bytes.count) { output in
            output.update(fromContentsOf: bytes)
        }
    }

    /// - Parameters:
    ///   - capacity: The buffer's size in bytes.
    ///   - write: Writes the text and returns its length.
    package func decode<Value: Decodable>(
        _ type: Value.Type, capacity: Int, write: (UnsafeMutableBufferPointer<UInt8>) -> Int
    ) throws -> Value {
        guard let document = JSONDocument(capacity: capacity, options: self, write: write) else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "The data is not valid JSON."))
        }
        return try document.value(JSONDocument.root)
    }
}
