/// The server's identifier of one connection: two unsigned integers joined by a dot.
///
/// Signers insist on this form: anything else could smuggle a `:` into the signed text.
package struct SocketID: Hashable, Sendable, CustomStringConvertible {
    package let string: String

    /// The maximum length: room for two numbers of 200 bits, while servers use at most 64 each. Every signed request
    /// contains the id.
    package static let maximumLength = 128

    package init?(_ string: String) {
        guard string.utf8.count <= Self.maximumLength else { return nil }
        let parts = string.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isASCIIDigit) }) else { return nil }
        self.string = string
    }

    package var description: String { string }
}

extension UInt8 {
    package var isASCIIDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
}
