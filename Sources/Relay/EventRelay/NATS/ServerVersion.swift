import Basics
import CNATS
import Glibc
import JSONBytes

package struct ServerVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first version with all required features.
    package static let oldest = ServerVersion(2, 9, 0)

    private let numbers: [Int]

    init(_ major: Int, _ minor: Int, _ patch: Int) { numbers = [major, minor, patch] }

    /// - Parameter text: A version such as `2.9.10` or `2.12.0-preview.1`.
    init?(_ text: String) {
        let numbers = text.prefix { $0.isNumber || $0 == "." }.split(separator: ".").compactMap { Int($0) }
        guard numbers.count == 3 else { return nil }
        self.numbers = numbers
    }

    package var description: String { numbers.map { "\($0)" }.joined(separator: ".") }

    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.numbers.lexicographicallyPrecedes(rhs.numbers) }
}

extension NATSConnection {
    /// Returns the version of the connected server.
    ///
    /// libnats 3.4.1 knows it but doesn't expose it. A server sends it to every client in its first line. A server that
    /// starts with TLS does not, and is recent.
    ///
    /// - Returns: The version; nil if the server does not send it.
    package func serverVersion() async throws(NATSError) -> ServerVersion? {
        try await call("the question for the server's version") { link throws(NATSError) in
            var buffer = [CChar](repeating: 0, count: 1024)
            // This URL may contain a password.
            guard natsConnection_GetConnectedUrl(link.connection, &buffer, buffer.count) == NATS_OK,
                let url = buffer.withUnsafeBufferPointer({ $0.baseAddress.map { String(cString: $0) } })
            else { return nil }
            let address = try NATSServerAddress.parse(url).0
            return address.firstLine.flatMap { JSONView($0) }?["version"]?.string.flatMap { ServerVersion($0) }
        }
    }

    /// - Throws: ``NATSError`` of kind `unsupportedServer` if the server is older than 2.9.0.
    package func checkServerVersion() async throws(NATSError) {
        guard let version = try await serverVersion(), version < .oldest else { return }
        throw NATSError(
            .unsupportedServer, "the NATS server has version \(version); \(ServerVersion.oldest) or newer is needed")
    }
}

extension NATSServerAddress {
    /// The JSON after `INFO`. Blocks for up to 2 s for each address of the host.
    fileprivate var firstLine: [UInt8]? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &list) == 0 else { return nil }
        defer { freeaddrinfo(list) }
        var next = list
        while let entry = next?.pointee {
            if let line = Self.firstLine(entry) { return line }
            next = entry.ai_next
        }
        return nil
    }

    private static func firstLine(_ entry: addrinfo) -> [UInt8]? {
        let descriptor = socket(entry.ai_family, entry.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), entry.ai_protocol)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
        guard connect(descriptor, entry.ai_addr, entry.ai_addrlen) == 0 else { return nil }
        var line: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while line.count < 65_536 {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            line += buffer.prefix(count)
            guard let end = line.firstIndex(of: UInt8(ascii: "\r")) else { continue }
            return line.starts(with: "INFO ".utf8) ? Array(line[5..<end]) : nil
        }
        return nil
    }
}
