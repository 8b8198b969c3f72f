import CVector
import JSONBytes

/// Walks from quote to quote of a JSON text, skipping escaped ones, 64 bytes at a time.
///
/// It stops where it is uncertain: at a control character (including line breaks and tabs) and at an escape that JSON
/// does not define.
struct QuoteWalk {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let end: Int
    /// The index of the first byte after the current block.
    private var blockEnd: Int
    private var blockStart: Int
    /// The quotes of the current block that are neither passed nor escaped.
    private var quotes: UInt64 = 0
    /// The backslashes of the current block that are not passed.
    private var backslashes: UInt64 = 0
    /// Whether the previous block ended with a backslash that escapes the first byte of this one.
    private var isEscaping = false
    /// The index up to which escapes are checked.
    private var checkedEscapes = 0

    @inline(__always)
    init(_ bytes: UnsafeBufferPointer<UInt8>, _ text: Range<Int>) {
        self.bytes = bytes
        (blockStart, blockEnd, end) = (text.lowerBound, text.lowerBound, text.upperBound)
    }

    /// Returns the string whose opening quote is the next one and at `start`, or `nil`.
    @inline(__always)
    mutating func nextString(at start: Int) -> QuotedText? {
        guard let (opening, _) = nextQuote(), opening == start, let (closing, hasEscapes) = nextQuote() else {
            return nil
        }
        return QuotedText(start: start + 1, end: closing, hasEscapes: hasEscapes)
    }

    /// Returns the index of the next quote, and whether there is a backslash between it and the last one.
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

    /// Returns the bytes after an odd number of backslashes (as in simdjson, by the carries of an addition).
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
