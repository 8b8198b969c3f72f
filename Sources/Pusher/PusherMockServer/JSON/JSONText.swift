// The server has its own JSON code, so that client and server check each other.
import Foundation

/// Writes JSON text piece by piece, so that a member copied from elsewhere keeps every byte.
enum JSONText {
    /// Returns `string` as a JSON string with its quotes. Inside another JSON text this is the protocol's double
    /// encoding.
    static func quoted(_ string: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(string.utf8.count + 2)
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 { append(byte, to: &bytes) }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns an object of members whose values already are JSON text; members without a value are left out.
    static func object(_ members: KeyValuePairs<String, String?>) -> String {
        object(members.compactMap { name, value in value.map { (name, $0) } })
    }

    static func object(_ members: [(name: String, value: String)]) -> String {
        "{" + members.map { "\(quoted($0.name)):\($0.value)" }.joined(separator: ",") + "}"
    }

    /// Returns an array of elements that already are JSON text.
    static func array(_ elements: [String]) -> String {
        "[" + elements.joined(separator: ",") + "]"
    }

    /// Returns the text that PHP writes for an array: a list if its keys are 0, 1, 2… or if it is empty.
    static func objectLikePHP(_ members: [(name: String, value: String)]) -> String {
        let isList = members.enumerated().allSatisfy { "\($0.offset)" == $0.element.name }
        return isList ? array(members.map(\.value)) : object(members)
    }

    /// Returns the JSON with slashes and non-ASCII characters escaped, like PHP.
    static func escapedLikePHP(_ json: String) -> String {
        var result = ""
        var isEscaped = false
        for scalar in json.unicodeScalars {
            if scalar == "/", !isEscaped {
                result += #"\/"#
            } else if scalar.isASCII {
                result.unicodeScalars.append(scalar)
            } else {
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    result += #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
            isEscaped = scalar == "\\" && !isEscaped
        }
        return result
    }

    /// Returns whether `text` is one JSON value of any type.
    static func isJSON(_ text: String) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
    }

    private static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""): bytes += Array(#"\""#.utf8)
        case UInt8(ascii: "\\"): bytes += Array(#"\\"#.utf8)
        case UInt8(ascii: "\n"): bytes += Array(#"\n"#.utf8)
        case UInt8(ascii: "\r"): bytes += Array(#"\r"#.utf8)
        case UInt8(ascii: "\t"): bytes += Array(#"\t"#.utf8)
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            bytes += Array(#"\u00"#.utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        default: bytes.append(byte)
        }
    }
}
