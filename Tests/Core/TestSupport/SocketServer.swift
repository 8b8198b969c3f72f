import Basics
import Foundation
import Glibc

/// A TCP server for peers that no library would imitate: a closure with a blocking socket for each connection, on its
/// own thread. It listens for the lifetime of the process.
package final class SocketServer: Sendable {
    package struct Peer: Sendable {
        package let descriptor: Int32

        /// Reads the next bytes; empty at the end.
        package func read(atMost count: Int = 65_536) -> [UInt8] {
            var buffer = [UInt8](repeating: 0, count: count)
            let received = recv(descriptor, &buffer, count, 0)
            return Array(buffer.prefix(max(received, 0)))
        }

        /// Reads up to the blank line that ends an HTTP head.
        package func readHead() -> String {
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
                let byte = read(atMost: 1)
                if byte.isEmpty { break }
                head += byte
            }
            return String(decoding: head, as: UTF8.self)
        }

        package func write(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let sent = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard sent > 0 else { return }
                rest = rest.dropFirst(sent)
            }
        }

        package func write(_ text: String) { write(Array(text.utf8)) }

        /// Makes the system drop all further input, like a cut line: nothing is acknowledged.
        package func goDeaf() {
            // A socket filter of one instruction: return 0 and keep nothing (BPF_RET | BPF_K).
            var instruction: (code: UInt16, jumps: UInt16, value: UInt32) = (0x06, 0, 0)
            withUnsafePointer(to: &instruction) { pointer in
                var program = (count: UInt(1), instructions: UnsafeRawPointer(pointer))
                setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, socklen_t(16))
            }
        }

        package func reset() {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        }

        /// Copies in both directions until both have ended, then closes the other peer.
        ///
        /// Does not close it earlier: a descriptor closed while in use may already belong to another connection.
        package func relay(with other: Peer) {
            let isDone = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                other.copy(to: self)
                isDone.signal()
            }
            copy(to: other)
            isDone.wait()
            close(other.descriptor)
        }

        private func copy(to other: Peer) {
            while true {
                let bytes = read()
                if bytes.isEmpty { break }
                other.write(bytes)
            }
            shutdown(other.descriptor, Int32(SHUT_WR))
        }

        package static func connect(port: Int) -> Peer? {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = SocketServer.address(port: port)
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            return result == 0 ? Peer(descriptor: descriptor) : nil
        }
    }

    package let port: Int
    private let served = Lock(0)

    /// Waits until a connection has been served and closed.
    package func hasServed() async -> Bool {
        await eventually { self.served.withLock { $0 > 0 } }
    }

    /// - Parameter serve: Called for each connection; when it returns the connection is closed.
    package init(_ serve: @escaping @Sendable (Peer) -> Void) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(port: 0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                precondition(bind(listener, $0, size) == 0 && listen(listener, 128) == 0)
                getsockname(listener, $0, &size)
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [served] in
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                Thread.detachNewThread {
                    serve(Peer(descriptor: descriptor))
                    close(descriptor)
                    served.withLock { $0 += 1 }
                }
            }
        }
    }

    private static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
