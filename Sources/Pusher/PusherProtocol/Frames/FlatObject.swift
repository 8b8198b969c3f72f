import Glibc

/// The position of the content of a JSON string within some bytes.
struct QuotedText {
    let start: Int
    /// The closing quote.
    let end: Int
    let hasEscapes: Bool

    @inline(__always)
    func equals(_ text: StaticString, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        end - start == text.utf8CodeUnitCount
            && memcmp(bytes.baseAddress.unsafelyUnwrapped + start, text.utf8Start, text.utf8CodeUnitCount) == 0
    }
}

/// A JSON object on one line with only string members, like nearly every frame.
enum FlatObject {
    /// Calls `body` with the key and value of each member, and stops when it returns false.
    ///
    /// - Returns: False if it stopped early, or if `object` is anything else.
    @inline(__always)
    static func walk(
        _ bytes: UnsafeBufferPointer<UInt8>, _ object: Range<Int>,
        _ body: (_ key: QuotedText, _ value: QuotedText) -> Bool
    ) -> Bool {
        let end = object.upperBound
        var quotes = QuoteWalk(bytes, object)
        var index = skipSpace(bytes, object.lowerBound, end)
        guard index < end, bytes[index] == UInt8(ascii: "{") else { return false }
        while true {
            guard let key = quotes.nextString(at: skipSpace(bytes, index + 1, end)), !key.hasEscapes else {
                return false
            }
            index = skipSpace(bytes, key.end + 1, end)
            guard index < end, bytes[index] == UInt8(ascii: ":"),
                let value = quotes.nextString(at: skipSpace(bytes, index + 1, end)), body(key, value)
            else { return false }
            index = skipSpace(bytes, value.end + 1, end)
            guard index < end else { return false }
            if bytes[index] == UInt8(ascii: "}") { return skipSpace(bytes, index + 1, end) == end }
            guard bytes[index] == UInt8(ascii: ",") else { return false }
        }
    }

    @inline(__always)
    private static func skipSpace(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        var index = start
        while index < end {
            switch bytes[index] {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            default: return index
            }
        }
        return index
    }
}
