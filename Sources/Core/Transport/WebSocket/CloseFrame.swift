/// The contents of a close frame's payload (RFC 6455, sections 5.5.1 and 7.4).
package enum CloseFrame: Hashable, Sendable {
    case close(code: UInt16?, reason: String)
    /// An invalid frame; answer with this close code.
    case violation(code: UInt16, String)

    package init(payload: UnsafeRawBufferPointer) {
        guard payload.count != 1 else {
            self = .violation(code: 1002, "a close frame with half a code")
            return
        }
        guard payload.count >= 2 else {
            self = .close(code: nil, reason: "")
            return
        }
        let code = UInt16(bigEndian: payload.loadUnaligned(as: UInt16.self))
        guard Self.mayBeSent(code) else {
            self = .violation(code: 1002, "a close frame with the code \(code), which must not be sent")
            return
        }
        let reason = UnsafeRawBufferPointer(rebasing: payload.dropFirst(2))
        var validator = UTF8Validator()
        guard validator.accepts(reason), validator.isComplete else {
            self = .violation(code: 1007, "a close reason that is not UTF-8")
            return
        }
        self = .close(code: code, reason: String(decoding: reason, as: UTF8.self))
    }

    /// Returns whether a code is in section 7.4 or the IANA registry, or is free to use.
    private static func mayBeSent(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
