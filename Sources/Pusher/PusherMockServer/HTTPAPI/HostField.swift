import NIOCore

/// The value of a request's `Host` field: `localhost:6001`, `127.0.0.1`, `[::1]:6001`. RFC 9110, section 7.2.
struct HostField: Hashable {
    /// The host in lower case; an IPv6 address without its brackets. Empty if the request names no host.
    let name: String
    /// The port; `nil` if there is none.
    let port: UInt16?

    /// Returns `nil` if the text is not a host.
    init?(_ text: String) {
        // The longest host name has 253 characters.
        guard text.utf8.count <= 300, text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else { return nil }
        let pattern = #/(?:\[([0-9a-f:.]+)\]|([a-z0-9\-._~!$&'()*+,;=%]*))(?::([0-9]{0,5}))?/#
        guard let match = text.lowercased().wholeMatch(of: pattern) else { return nil }
        if let digits = match.output.3, !digits.isEmpty {
            guard let number = UInt16(digits) else { return nil }
            port = number
        } else {
            port = nil
        }
        name = String(match.output.1 ?? match.output.2 ?? "")
    }

    var isAddress: Bool { (try? SocketAddress(ipAddress: name, port: 0)) != nil }
}
