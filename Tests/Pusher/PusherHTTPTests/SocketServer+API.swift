import PusherHTTP
import TestSupport

extension SocketServer.Peer {
    /// Reads an HTTP request with a `Content-Length`.
    func readRequest() -> (head: String, body: String) {
        let head = readHead()
        let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
        var body: [UInt8] = []
        while body.count < length {
            let bytes = read(atMost: length - body.count)
            if bytes.isEmpty { break }
            body += bytes
        }
        return (head, String(decoding: body, as: UTF8.self))
    }

    func answer(_ body: String, status: String = "200 OK") {
        write("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)")
    }
}

extension PusherHTTPClient {
    init(_ server: SocketServer) {
        self.init(
            appID: "3", key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8", host: "127.0.0.1",
            port: server.port, useTLS: false, proxy: "")
    }
}
