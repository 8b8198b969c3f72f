import RelayProtocol

/// Validates text for the server where libnats checks nothing: a space or a line break would start another protocol
/// line.
enum NATSSubject {
    /// In bytes. The server's control line has 4,096.
    static let maximumLength = 512

    /// Returns whether a subject consists of tokens of visible characters.
    ///
    /// - Parameter allowsWildcards: For readers' filters: allows `*` as a token, and `>` as the last one.
    static func isValid(_ subject: String, allowsWildcards: Bool = false) -> Bool {
        guard subject.utf8.count <= maximumLength else { return false }
        if !allowsWildcards { return isPlain(subject) }
        let tokens = subject.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return tokens.enumerated().allSatisfy { index, token in
            guard let first = token.first else { return false }
            let isWildcard = first == UInt8(ascii: "*") || first == UInt8(ascii: ">") && index == tokens.count - 1
            return token.count == 1 && isWildcard || token.allSatisfy(isVisible)
        }
    }

    /// Called for each published message, and so allocates no tokens.
    private static func isPlain(_ subject: String) -> Bool {
        var isInToken = false
        for byte in subject.utf8 {
            if byte == UInt8(ascii: ".") {
                guard isInToken else { return false }
                isInToken = false
            } else {
                guard isVisible(byte) else { return false }
                isInToken = true
            }
        }
        return isInToken
    }

    private static func isVisible(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != 0x7F && byte != UInt8(ascii: "*") && byte != UInt8(ascii: ">")
    }

    /// Returns whether a name is a token without encoding.
    static func isToken(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= SubjectToken.maximumLength && name.utf8.allSatisfy(SubjectToken.isPlain)
    }

    /// Returns whether a text is a valid name of a stream or a consumer, possibly encoded.
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

    /// Returns whether a header that was encoded or read from the records is safe: it must not start a header line of
    /// its own or set a server header.
    static func isHeader(_ text: String) -> Bool {
        !text.isEmpty && HeaderValue.isSafe(text) { $0 >= 0x20 && $0 < 0x7F }
    }
}
