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
        if !allowsWildcards { return isPlain(subject) }
        let tokens = subject.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return tokens.enumerated().allSatisfy { index, token in
            guard let first = token.first else { return false }
            let isWildcard = first == UInt8(ascii: "*") || first == UInt8(ascii: ">") && index == tokens.count - 1
            return token.count == 1 && isWildcard || token.allSatisfy(isVisible)
        }
    }

    /// Of each message that is published: without tokens of its own in memory.
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

    /// A name that is one token as it is.
    static func isToken(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= SubjectToken.maximumLength && name.utf8.allSatisfy(SubjectToken.isPlain)
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

    /// What was encoded, or stands in the records: a header line of its own must not come of it, nor a header of the server.
    static func isHeader(_ text: String) -> Bool {
        !text.isEmpty && HeaderValue.isSafe(text) { $0 >= 0x20 && $0 < 0x7F }
    }
}
