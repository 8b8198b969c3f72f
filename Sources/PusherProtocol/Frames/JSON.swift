import Foundation

/// Foundation's JSON in the few forms that the protocol needs.
package enum JSON {
    /// The object in a text, or nil if it is anything else.
    package static func object(_ text: String) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
    }

    /// Compact JSON text of any JSON value.
    package static func text(_ value: Any) -> String? {
        guard JSONSerialization.isValidJSONObject([value]),
            let data = try? JSONSerialization.data(
                withJSONObject: value, options: [.fragmentsAllowed, .withoutEscapingSlashes, .sortedKeys])
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    package static func isValid(_ text: String) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
    }

    /// The JSON value in a text, containers or not; nil for `null` and for what is not JSON.
    package static func value(_ text: String) -> Any? {
        let value = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        return value is NSNull ? nil : value
    }

    /// A text in quotes.
    package static func quoted(_ text: String) -> String {
        self.text(text) ?? "\"\""
    }

    /// An identifier that should be a string, but that some servers send as a number: integers have no decimal point.
    package static func identifier(_ value: Any?) -> String? {
        switch value {
        case let text as String: text
        case let number as NSNumber where !isBoolean(number): number.stringValue
        default: nil
        }
    }

    /// A whole number, sent as a number or as its text.
    package static func integer(_ value: Any?) -> Int? {
        switch value {
        case let text as String: Int(text)
        case let number as NSNumber where !isBoolean(number): Int(exactly: number.doubleValue)
        default: nil
        }
    }

    private static func isBoolean(_ number: NSNumber) -> Bool {
        number.objCType.pointee == CChar(bitPattern: UInt8(ascii: "c"))  // what Foundation gives for true and false
    }
}

/// Cuts the source text of a value out of JSON that is known to be well-formed.
enum JSONSource {
    /// The text of the member `key` of the object, without insignificant white space. The last of several counts.
    static func member(_ key: String, of object: ArraySlice<UInt8>) -> String? {
        var reader = Reader(bytes: object)
        var found: String?
        guard reader.take(UInt8(ascii: "{")) else { return nil }
        while let name = reader.takeValue() {
            guard reader.take(UInt8(ascii: ":")), let value = reader.takeValue() else { return nil }
            if JSON.value(name) as? String == key { found = value }
            guard reader.take(UInt8(ascii: ",")) else { break }
        }
        return found
    }

    private struct Reader {
        private let bytes: ArraySlice<UInt8>
        private var index: Int

        init(bytes: ArraySlice<UInt8>) {
            self.bytes = bytes
            index = bytes.startIndex
        }

        mutating func take(_ byte: UInt8) -> Bool {
            while index < bytes.endIndex, Self.isSpace(bytes[index]) { index += 1 }
            guard index < bytes.endIndex, bytes[index] == byte else { return false }
            index += 1
            return true
        }

        /// One value of any kind, up to the comma, colon or bracket that follows it.
        mutating func takeValue() -> String? {
            var text: [UInt8] = []
            var depth = 0
            var isInString = false
            while index < bytes.endIndex {
                let byte = bytes[index]
                if isInString {
                    text.append(byte)
                    index += 1
                    if byte == UInt8(ascii: "\"") { isInString = false }
                    if byte == UInt8(ascii: "\\"), index < bytes.endIndex {
                        text.append(bytes[index])
                        index += 1
                    }
                    continue
                }
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return text.isEmpty ? nil : String(decoding: text, as: UTF8.self) }
                    depth -= 1
                case UInt8(ascii: ","), UInt8(ascii: ":"):
                    if depth == 0 { return text.isEmpty ? nil : String(decoding: text, as: UTF8.self) }
                default: break
                }
                if !Self.isSpace(byte) { text.append(byte) }
                index += 1
            }
            return nil
        }

        private static func isSpace(_ byte: UInt8) -> Bool {
            byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
        }
    }
}
