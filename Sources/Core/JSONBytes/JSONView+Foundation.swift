public import Foundation

extension JSONView {
    /// The bytes of the value alone.
    public var data: Data { bytes.withUnsafeBytes { Data($0[range]) } }

    /// What Foundation makes of it: dictionaries, arrays, strings, numbers, `NSNull`. Nil if it is not JSON.
    public var foundation: Any? {
        try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
    }
}
