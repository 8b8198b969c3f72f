import Basics
import Glibc

/// Loopback ports for a test's own servers. Each is handed out once, and lies below the ports that the system assigns
/// to connections and to servers that leave the choice to it. So nothing else takes it before the server does, or after
/// the server has ended.
package enum FreePort {
    package struct NoneLeft: Error {}

    private static let last = Lock(Int.random(in: 10_000..<30_000))

    package static func next() throws(NoneLeft) -> Int {
        for _ in 0..<1000 {
            let port = last.withLock { port in
                port = port < 32_000 ? port + 1 : 10_000
                return port
            }
            if call(bind, port) { return port }
        }
        throw NoneLeft()
    }

    /// Returns whether a server accepts connections on `port`.
    package static func isTaken(_ port: Int) -> Bool { call(connect, port) }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ port: Int
    ) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
