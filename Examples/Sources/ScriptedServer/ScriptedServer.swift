import Foundation

/// An HTTP server on a free port of 127.0.0.1 that answers with what a closure returns. It stands in for a homeserver, a Pydio
/// server or your backend, and runs until the process ends.
package struct ScriptedServer: Sendable {
    package struct Request: Sendable {
        package let method: String
        /// Without the query.
        package let path: String
        /// Names are in lower case.
        package let headers: [String: String]
        /// From the query, and from a form in the body.
        package let parameters: [String: String]
        package let body: Data
    }

    package struct Answer: Sendable {
        let status: Int
        let type: String
        let body: String

        package static func json(_ text: String, status: Int = 200) -> Answer {
            Answer(status: status, type: "application/json", body: text)
        }

        package static func xml(_ text: String) -> Answer { Answer(status: 200, type: "text/xml", body: text) }

        package static func text(_ text: String) -> Answer { Answer(status: 200, type: "text/plain", body: text) }
    }

    /// The port could not be opened.
    private struct CannotListen: Error, CustomStringConvertible {
        let description = "cannot listen on 127.0.0.1"
    }

    package let url: URL

    /// - Parameter answer: Called on a thread of its own for each request, so it may block.
    package init(_ answer: @escaping @Sendable (Request) -> Answer) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 16) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard isListening, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))") else {
            throw CannotListen()
        }
        self.url = url
        setenv("no_proxy", "127.0.0.1", 1)  // no proxy on the way to this process
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread {
                    if let request = Request(from: connection) { answer(request).send(to: connection) }
                    close(connection)
                }
            }
        }
    }
}

extension ScriptedServer.Request {
    /// Nil if the connection ends before the request is complete.
    fileprivate init?(from connection: Int32) {
        var bytes = Data()
        func receive() -> Bool {
            var buffer = [UInt8](repeating: 0, count: 16_384)
            let count = recv(connection, &buffer, buffer.count, 0)
            if count > 0 { bytes += buffer.prefix(count) }
            return count > 0
        }
        let blankLine = Data("\r\n\r\n".utf8)
        while bytes.range(of: blankLine) == nil { guard receive() else { return nil } }
        guard let end = bytes.range(of: blankLine) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let start = lines[0].split(separator: " ").map(String.init)
        guard start.count == 3, let target = URLComponents(string: start[1]) else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[colon...].dropFirst().trimmingCharacters(in: .whitespaces)
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        while bytes.count < end.upperBound + length { guard receive() else { return nil } }
        let body = Data(bytes[end.upperBound...])
        var items = target.queryItems ?? []
        if headers["content-type"]?.hasPrefix("application/x-www-form-urlencoded") == true {
            let form = String(decoding: body, as: UTF8.self).replacing("+", with: "%20")
            items += URLComponents(string: "?" + form)?.queryItems ?? []
        }
        self.init(
            method: start[0], path: target.path, headers: headers,
            parameters: Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 }, body: body)
    }
}

extension ScriptedServer.Answer {
    fileprivate func send(to connection: Int32) {
        let head = "HTTP/1.1 \(status) \(status < 300 ? "OK" : "Refused")\r\nContent-Type: \(type)\r\n"
        var bytes = Data("\(head)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)".utf8)
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Foundation.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            bytes.removeFirst(count)
        }
    }
}
