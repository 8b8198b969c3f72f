import Foundation

/// A client's offer of permessage-deflate (RFC 7692, section 7.1).
package struct DeflateOffer: Hashable, Sendable {
    /// Whether the server is asked to compress each message by itself.
    package var serverNoContextTakeover: Bool
    /// Whether the client will compress each message by itself.
    package var clientNoContextTakeover: Bool
    /// Base-2 logarithm of the server's window, 8 to 15.
    package var serverMaxWindowBits: Int
    /// Base-2 logarithm of the client's window, 9 to 15: zlib cannot deflate with less.
    package var clientMaxWindowBits: Int

    package init(
        serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false, serverMaxWindowBits: Int = 15,
        clientMaxWindowBits: Int = 15
    ) {
        self.serverNoContextTakeover = serverNoContextTakeover
        self.clientNoContextTakeover = clientNoContextTakeover
        self.serverMaxWindowBits = serverMaxWindowBits
        self.clientMaxWindowBits = clientMaxWindowBits
    }

    /// Returns the offer as a field value. A server may always ask the client for a smaller window.
    func fieldValue() throws(TransportError) -> String {
        guard (8...15).contains(serverMaxWindowBits), (9...15).contains(clientMaxWindowBits) else {
            throw TransportError(
                .invalidRequest, "compression windows must have 8 to 15 bits for the server and 9 to 15 for the client")
        }
        var value = "permessage-deflate"
        if serverNoContextTakeover { value += "; server_no_context_takeover" }
        if clientNoContextTakeover { value += "; client_no_context_takeover" }
        if serverMaxWindowBits < 15 { value += "; server_max_window_bits=\(serverMaxWindowBits)" }
        value += "; client_max_window_bits"
        if clientMaxWindowBits < 15 { value += "=\(clientMaxWindowBits)" }
        return value
    }

    /// Returns the agreed parameters if this offer allows `answer`, the server's field value.
    func parameters(answeredBy answer: String) -> DeflateParameters? {
        let parts = answer.split(separator: ";", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
        guard parts[0] == "permessage-deflate" else { return nil }
        var parameters = DeflateParameters()
        parameters.keepsOwnContext = !clientNoContextTakeover
        parameters.ownWindowBits = clientMaxWindowBits
        var seen: Set<String> = []
        for part in parts.dropFirst() {
            let (name, value) = Self.parameter(part)
            guard seen.insert(name).inserted else { return nil }
            switch (name, value) {
            case ("server_no_context_takeover", nil): parameters.peerKeepsContext = false
            case ("client_no_context_takeover", nil): parameters.keepsOwnContext = false
            case ("server_max_window_bits", let value?):
                guard let bits = Self.windowBits(value), bits <= serverMaxWindowBits else { return nil }
                parameters.peerWindowBits = bits
            case ("client_max_window_bits", let value?):
                guard let bits = Self.windowBits(value), bits <= clientMaxWindowBits else { return nil }
                parameters.ownWindowBits = bits
            case _: return nil
            }
        }
        // The answer must contain everything that was asked of the server (sections 7.1.1.1 and 7.1.2.1).
        guard !serverNoContextTakeover || seen.contains("server_no_context_takeover"),
            serverMaxWindowBits == 15 || seen.contains("server_max_window_bits")
        else { return nil }
        return parameters
    }

    /// Parses `name`, `name=value` or `name="value"`.
    private static func parameter(_ text: String) -> (name: String, value: String?) {
        guard let equals = text.firstIndex(of: "=") else { return (text, nil) }
        var value = text[text.index(after: equals)...]
        if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") { value = value.dropFirst().dropLast() }
        return (String(text[..<equals]), String(value))
    }

    /// Parses a number from 8 to 15, without leading zeros.
    private static func windowBits(_ value: String) -> Int? {
        (8...15).first { String($0) == value }
    }
}

struct DeflateParameters: Hashable, Sendable {
    /// Whether our messages may refer to previous ones.
    var keepsOwnContext = true
    /// Whether the peer's messages may refer to previous ones.
    var peerKeepsContext = true
    var ownWindowBits = 15
    var peerWindowBits = 15
}
