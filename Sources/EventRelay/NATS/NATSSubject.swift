import RelayProtocol

/// What may go to the server where libnats checks nothing: a space or a line break would be another line of the protocol.
enum NATSSubject {
    /// Bytes. The server's control line has 4,096.
    static let maximumLength = 512

    /// Tokens of visible characters.
    ///
    /// - Parameter allowsWildcards: For filters of readers: `*` as a token, and `>` as the last one.
    static func isValid(_ subject: String, allowsWildcards: Bool = false) -> Bool {
        guard subject.utf8.count <= maximumLength else { return false }
        let tokens = subject.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return tokens.enumerated().allSatisfy { index, token in
            guard let first = token.first else { return false }
            let isWildcard = first == UInt8(ascii: "*") || first == UInt8(ascii: ">") && index == tokens.count - 1
            if token.count == 1, isWildcard { return allowsWildcards }
            return token.allSatisfy {
                $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: ">")
            }
        }
    }

    /// A name that is one token as it is.
    static func isToken(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= SubjectToken.maximumLength && !name.contains("=")
            && SubjectToken.encode(name) == name
    }

    /// The name of a stream or a consumer, which can be an encoded one.
    static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= SubjectToken.maximumLength
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="),
                    UInt8(ascii: "~"):
                    true
                default: false
                }
            }
    }

    /// What was encoded, or stands in the records: a header line of its own must not come of it.
    static func isHeader(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
    }
}
