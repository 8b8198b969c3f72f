enum NumberText {
    /// Returns the end of the number that begins at `start`, and whether it has neither fraction nor exponent; nil if
    /// there is no number.
    @inline(__always)
    static func scan(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> (end: Int, isWhole: Bool)? {
        var index = start
        func next() -> UInt8 { index < text.count ? text[index] : 0 }
        /// Skips at least one digit.
        func skipDigits() -> Bool {
            let start = index
            while next() &- 0x30 < 10 { index += 1 }
            return index > start
        }
        if next() == UInt8(ascii: "-") { index += 1 }
        if next() == UInt8(ascii: "0") {
            index += 1
        } else if !skipDigits() {
            return nil
        }
        var isWhole = true
        if next() == UInt8(ascii: ".") {
            isWhole = false
            index += 1
            guard skipDigits() else { return nil }
        }
        if next() | 0x20 == UInt8(ascii: "e") {
            isWhole = false
            index += 1
            if next() == UInt8(ascii: "-") || next() == UInt8(ascii: "+") { index += 1 }
            guard skipDigits() else { return nil }
        }
        return (index, isWhole)
    }

    /// Returns the value of a number that consists only of digits and an optional minus; nil if it is too large.
    @inline(__always)
    static func wholeNumber(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = text.dropFirst(isNegative ? 1 : 0)
        guard digits.count <= 18 else { return nil }  // they cannot overflow
        var value = 0
        for digit in digits { value = value &* 10 &+ Int(digit &- 0x30) }
        return isNegative ? -value : value
    }

    /// Returns a whole number in any spelling: `1`, `1.0`, `1e3`. Nil if it is not whole or does not fit.
    static func integer<Value: FixedWidthInteger>(_ text: UnsafeBufferPointer<UInt8>) -> Value? {
        if let value = Value(String(decoding: text, as: UTF8.self)) { return value }
        guard let double = Double(String(decoding: text, as: UTF8.self)) else { return nil }
        // From 2⁵³ on, a Double may represent another whole number than the one written.
        return double.magnitude < 0x1p53 ? Value(exactly: double) : exactInteger(text)
    }

    /// Returns its digits, with the point moved by the exponent.
    private static func exactInteger<Value: FixedWidthInteger>(_ text: UnsafeBufferPointer<UInt8>) -> Value? {
        let isNegative = text.first == UInt8(ascii: "-")
        let parts = Decimals(text)
        var digits = parts.digits.drop { $0 == 0 }
        var exponent = parts.exponent
        while exponent < 0, digits.last == 0 {
            digits.removeLast()
            exponent += 1
        }
        guard exponent >= 0, digits.count + exponent < 40 else { return nil }
        var value: Value = 0
        for digit in digits + repeatElement(0, count: exponent) {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let digit = Value(digit)
            let (sum, overflowToo) =
                isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            if overflow || overflowToo { return nil }
            value = sum
        }
        return value
    }

    /// Returns the nearest Double; nil if that is infinite, or 0 for a number that is not.
    static func double(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        quickDouble(text) ?? float(text)
    }

    static func float<Value: BinaryFloatingPoint & LosslessStringConvertible>(
        _ text: UnsafeBufferPointer<UInt8>
    ) -> Value? {
        guard let value = Value(String(decoding: text, as: UTF8.self)), value.isFinite else { return nil }
        return value != 0 || Decimals(text).isZero ? value : nil
    }

    /// Exact where both the digits and the power of ten are exact as Doubles, because then only one operation rounds
    /// (W. Clinger). Nil for other numbers.
    @inline(__always)
    private static func quickDouble(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        var index = 0
        let isNegative = text.first == UInt8(ascii: "-")
        if isNegative { index = 1 }
        var digits: UInt64 = 0
        var exponent = 0
        guard text.count - index <= 19 else { return nil }  // they cannot overflow
        while index < text.count, text[index] &- 0x30 < 10 {
            digits = digits &* 10 &+ UInt64(text[index] &- 0x30)
            index += 1
        }
        if index < text.count, text[index] == UInt8(ascii: ".") {
            index += 1
            let start = index
            while index < text.count, text[index] &- 0x30 < 10 {
                digits = digits &* 10 &+ UInt64(text[index] &- 0x30)
                index += 1
            }
            exponent = start - index
        }
        if index < text.count {
            index += 1
            let isNegative = text[index] == UInt8(ascii: "-")
            if isNegative || text[index] == UInt8(ascii: "+") { index += 1 }
            guard text.count - index <= 3 else { return nil }
            var power = 0
            while index < text.count {
                power = power * 10 + Int(text[index] &- 0x30)
                index += 1
            }
            exponent += isNegative ? -power : power
        }
        guard digits <= 1 << 53, (-22...22).contains(exponent) else { return nil }
        let value = Double(digits)
        let magnitude = exponent < 0 ? value / powers[-exponent] : value * powers[exponent]
        return isNegative ? -magnitude : magnitude
    }

    private static let powers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]
}

/// The digits of a number without the point, and the point's position.
private struct Decimals {
    private(set) var digits: [UInt8] = []
    /// The power of ten to multiply the digits with; bounded.
    private(set) var exponent = 0

    init(_ text: UnsafeBufferPointer<UInt8>) {
        var fraction = 0
        var hasPoint = false
        var index = text.first == UInt8(ascii: "-") ? 1 : 0
        while index < text.count, text[index] | 0x20 != UInt8(ascii: "e") {
            if text[index] == UInt8(ascii: ".") {
                hasPoint = true
            } else {
                digits.append(text[index] &- 0x30)
                if hasPoint { fraction += 1 }
            }
            index += 1
        }
        let power = text.dropFirst(index + 1)
        // An exponent that does not fit an Int is equivalent to the bound.
        let outermost = power.first == UInt8(ascii: "-") ? Int.min : .max
        let written = power.isEmpty ? 0 : Int(String(decoding: power, as: UTF8.self)) ?? outermost
        exponent = max(-1_000_000_000, min(1_000_000_000, written)) - fraction
    }

    var isZero: Bool { digits.allSatisfy { $0 == 0 } }
}
