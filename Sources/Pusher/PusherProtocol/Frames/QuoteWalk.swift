import CVector
import JSONBytes

/// Goes from quote to quote of a JSON text, past those that are escaped, with a look at 64 bytes at once.
///
/// It stops where it is not sure: at a control character (white space in lines included) and at an escape that JSON does
/// not have.
struct QuoteWalk {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let end: Int
    /// The first byte after the present block.
    private var blockEnd: Int
    private var blockStart: Int
    /// Those of the present block that are neither passed nor escaped.
    private var quotes: UInt64 = 0
    /// Those of the present block that are not passed.
    private var backslashes: UInt64 = 0
    /// Whether the block before ended with a backslash that escapes the first byte of this one.
    private var isEscaping = false
    /// Escapes before this one are checked.
    private var checkedEscapes = 0

    @inline(__always)
    init(_ bytes: UnsafeBufferPointer<UInt8>, _ text: Range<Int>) {
        self.bytes = bytes
        (blockStart, blockEnd, end) = (text.lowerBound, text.lowerBound, text.upperBound)
    }

    /// The string whose opening quote is the next and stands at `start`, or nil.
    @inline(__always)
    mutating func nextString(at start: Int) -> QuotedText? {
        guard let (opening, _) = nextQuote(), opening == start, let (closing, hasEscapes) = nextQuote() else {
            return nil
        }
        return QuotedText(start: start + 1, end: closing, hasEscapes: hasEscapes)
    }

    /// Where the next quote is, and whether a backslash stands before it, since the last one.
    @inline(__always)
    mutating func nextQuote() -> (index: Int, hasBackslashes: Bool)? {
        var hasBackslashes = false
        while quotes == 0 {
            hasBackslashes = hasBackslashes || backslashes != 0
            guard blockEnd < end, loadBlock() else { return nil }
        }
        let bit = quotes.trailingZeroBitCount
        quotes &= quotes &- 1
        let before = (UInt64(1) &<< bit) &- 1
        hasBackslashes = hasBackslashes || backslashes & before != 0
        backslashes &= ~before
        return (blockStart + bit, hasBackslashes)
    }

    private mutating func loadBlock() -> Bool {
        blockStart = blockEnd
        blockEnd = min(blockStart + 64, end)
        let special = special_bytes(
            bytes.baseAddress.unsafelyUnwrapped + blockStart, UInt64(blockEnd - blockStart))
        guard special.has_controls == 0 else { return false }
        (quotes, backslashes) = (special.quotes, special.backslashes)
        guard backslashes != 0 || isEscaping else { return true }
        let escaped = escapedBytes()
        quotes &= ~escaped
        let others = escaped & ~special.quotes & ~special.backslashes
        return others == 0 || checkEscapes(others)
    }

    /// The bytes that have an odd number of backslashes before them (the way of simdjson, by carries of an addition).
    @inline(__always)
    private mutating func escapedBytes() -> UInt64 {
        let even: UInt64 = 0x5555_5555_5555_5555
        let carry: UInt64 = isEscaping ? 1 : 0
        let starting = backslashes & ~carry
        let following = starting &<< 1 | carry
        let oddStarts = starting & ~even & ~following
        let (sequences, overflow) = oddStarts.addingReportingOverflow(starting)
        isEscaping = overflow
        return (even ^ (sequences &<< 1)) & following
    }

    /// - Parameter escaped: Bytes after a backslash that are neither quotes nor backslashes.
    private mutating func checkEscapes(_ escaped: UInt64) -> Bool {
        var escaped = escaped
        while escaped != 0 {
            let index = blockStart + escaped.trailingZeroBitCount
            escaped &= escaped &- 1
            guard index > checkedEscapes else { continue }  // the second half of a surrogate pair
            guard index < end,
                let width = JSONString.escapeWidth(UnsafeBufferPointer(rebasing: bytes[..<end]), at: index - 1)
            else { return false }
            checkedEscapes = index - 1 + width
        }
        return true
    }
}
