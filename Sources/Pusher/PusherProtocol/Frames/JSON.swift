import Foundation
package import JSONBytes

/// Foundation's JSON, for values that the API passes as `Any`, and for messages too rare to optimize.
package enum JSON {
    /// Returns the object in a text, or `nil` if it is anything else.
    package static func object(_ text: String) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
    }

    /// Returns the compact JSON text of any JSON value.
    package static func text(_ value: Any) -> String? {
        guard JSONSerialization.isValidJSONObject([value]),
            let data = try? JSONSerialization.data(
                withJSONObject: value, options: [.fragmentsAllowed, .withoutEscapingSlashes, .sortedKeys])
        else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    /// Returns the JSON value in a text, of any type; `nil` for `null` and for invalid JSON.
    package static func value(_ text: String) -> Any? {
        let value = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        return value is NSNull ? nil : value
    }

    /// Returns an identifier that should be a string, but that some servers send as a number: integers have no decimal
    /// point.
    package static func identifier(_ value: Any?) -> String? {
        switch value {
        case let text as String: text
        case let number as NSNumber where !isBoolean(number): number.stringValue
        default: nil
        }
    }

    package static func identifier(_ value: JSONView?) -> String? {
        guard let value, let number = value.double else { return value?.string }
        if let whole = value.int { return "\(whole)" }
        let text = value.compactText
        return text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? text : "\(number)"
    }

    /// Returns an integer sent as a number or as text.
    package static func integer(_ value: Any?) -> Int? {
        switch value {
        case let text as String: Int(text)
        case let number as NSNumber where !isBoolean(number): Int(exactly: number.doubleValue)
        default: nil
        }
    }

    private static func isBoolean(_ number: NSNumber) -> Bool {
        number.objCType.pointee == CChar(bitPattern: UInt8(ascii: "c"))  // what Foundation uses for true and false
    }
}
