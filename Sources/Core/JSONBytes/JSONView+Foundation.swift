public import Foundation

extension JSONView {
    /// The bytes of this value only.
    public var data: Data { bytes.withUnsafeBytes { Data($0[range]) } }

    /// The value as a Foundation object: a dictionary, array, string, number or `NSNull`; nil if it is not JSON.
    public var foundation: Any? {
        try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)
    }
}
