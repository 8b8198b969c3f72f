import Basics
import CLibcrypto
import Foundation

/// The client side of the opening handshake (RFC 6455, section 4).
struct ClientHandshake: Sendable {
    private static let magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    let request: [UInt8]
    private let key: String
    private let subprotocols: [String]
    private let compression: DeflateOffer?
    private let maximumSize: Int
    private let host: String
    private var head: [UInt8] = []

    init(_ request: WebSocketRequest, using random: inout some RandomNumberGenerator) throws(TransportError) {
        guard let url = URLComponents(string: request.url), let host = url.hostField, !host.isEmpty,
            url.scheme == "ws" || url.scheme == "wss"
        else {
            throw TransportError(
                .invalidRequest,
                "no ws:// or wss:// URL can be made of the option host, which takes a host name, an address or a URL")
        }
        guard !PathSegment.hasDots(path: url.percentEncodedPath) else {
            throw TransportError(
                .invalidRequest,
                "the URL's path has a segment of dots, which would not arrive as it is; nothing was sent")
        }
        let nonce = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        key = Data(nonce).base64EncodedString()
        subprotocols = request.subprotocols
        compression = request.compression
        maximumSize = request.maximumHandshakeSize
        self.host = host
        let isDefaultPort = url.port == nil || url.port == (url.scheme == "wss" ? 443 : 80)
        let path = url.percentEncodedPath.isEmpty ? "/" : url.percentEncodedPath
        var fields: HTTPFields = [
            "Host": isDefaultPort ? host : "\(host):\(url.port ?? 0)", "Upgrade": "websocket",
            "Connection": "Upgrade", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13",
        ]
        if !subprotocols.isEmpty { fields["Sec-WebSocket-Protocol"] = subprotocols.joined(separator: ", ") }
        if let compression { fields["Sec-WebSocket-Extensions"] = try compression.fieldValue() }
        try request.fields.validateForHandshake()
        for field in request.fields.fields { fields.append(name: field.name, value: field.value) }
        try fields.validate()
        let line = "GET \(path)\(url.percentEncodedQuery.map { "?\($0)" } ?? "") HTTP/1.1\r\n"
        self.request = Array((line + fields.fields.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n").utf8)
    }

    enum Answer {
        case needsMore
        /// The connection is a WebSocket. Data after the head in the same read belongs to the frames.
        /// Messages are compressed with `compression`, or uncompressed if it is nil.
        case accepted(rest: ArraySlice<UInt8>, compression: DeflateParameters?)
        case refused(TransportError)
    }

    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Answer {
        let searchStart = max(head.count - 3, 0)
        head.append(contentsOf: bytes)
        guard head.prefix(5).elementsEqual("HTTP/".utf8.prefix(head.count)) else {
            return refuse(.notWebSocket, "does not speak HTTP, so it is not a WebSocket server")
        }
        guard let end = Self.endOfHead(head, from: searchStart), end <= maximumSize else {
            guard head.count > maximumSize else { return .needsMore }
            return refuse(
                .tooLarge, "answered the handshake with more than \(maximumSize) bytes (maximumHandshakeSize)")
        }
        let rest = head[end...]
        guard let (status, reason, fields) = Self.parse(head[..<end]) else {
            return refuse(.notWebSocket, "answered the handshake with malformed HTTP")
        }
        do throws(TransportError) {
            try check(status: status, reason: reason, fields)
            return .accepted(rest: rest, compression: try agreedCompression(fields))
        } catch {
            return .refused(error)
        }
    }

    /// Returns the error for a peer that closed the connection in the middle of its response.
    func ended() -> TransportError {
        TransportError(
            .connectionLost,
            head.isEmpty
                ? "\(host) closed the connection without answering the WebSocket handshake"
                : "\(host) closed the connection in the middle of the WebSocket handshake")
    }

    private func refuse(_ code: TransportError.Code, _ what: String) -> Answer {
        .refused(TransportError(code, "\(host) \(what)"))
    }

    // MARK: Rules (section 4.1)

    private func check(status: Int, reason: String, _ fields: HTTPFields) throws(TransportError) {
        guard status == 101 else {
            let words = reason.isEmpty ? "\(status)" : "\(status) \(reason)"
            guard !(200..<300).contains(status) else {
                throw TransportError(.notWebSocket, "\(host) answered \(words): it is not a WebSocket server")
            }
            throw TransportError(
                .handshakeRefused(status: status), "\(host) refused the WebSocket handshake: \(words)")
        }
        guard fields.hasToken("websocket", in: "Upgrade"), fields.hasToken("upgrade", in: "Connection") else {
            throw notAccepted("does not upgrade to a WebSocket")
        }
        guard fields["Sec-WebSocket-Accept"] == Self.accept(key: key) else {
            throw notAccepted("its Sec-WebSocket-Accept is wrong")
        }
        if let chosen = fields["Sec-WebSocket-Protocol"], !subprotocols.contains(chosen) {
            throw notAccepted("with a subprotocol nobody asked for")
        }
    }

    private func agreedCompression(_ fields: HTTPFields) throws(TransportError) -> DeflateParameters? {
        let answers = fields.fields.filter { $0.name.equalsIgnoringASCIICase("Sec-WebSocket-Extensions") }
        guard let answer = answers.first else { return nil }
        guard let compression else { throw notAccepted("with an extension nobody asked for") }
        guard answers.count == 1, let parameters = compression.parameters(answeredBy: answer.value) else {
            throw notAccepted("with another compression than the one it was offered")
        }
        return parameters
    }

    private func notAccepted(_ why: String) -> TransportError {
        TransportError(.notWebSocket, "\(host) answered 101, but \(why)")
    }

    static func accept(key: String) -> String {
        precondition(LibCrypto.isReady, "libcrypto cannot be used")
        let text = Array((key + magic).utf8)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        EVP_Digest(text, text.count, &digest, &length, EVP_sha1(), nil)
        return Data(digest.prefix(Int(length))).base64EncodedString()
    }

    // MARK: Reading the head

    private static func endOfHead(_ bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count >= start + 4 else { return nil }
        for index in start...(bytes.count - 4)
        where bytes[index] == 0x0D && bytes[index + 1] == 0x0A && bytes[index + 2] == 0x0D && bytes[index + 3] == 0x0A {
            return index + 4
        }
        return nil
    }

    private static func parse(_ head: ArraySlice<UInt8>) -> (status: Int, reason: String, HTTPFields)? {
        let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
        let parts = lines[0].split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[0].hasPrefix("HTTP/1."), parts[1].count == 3, let status = Int(parts[1]) else {
            return nil
        }
        var fields = HTTPFields()
        for line in lines.dropFirst() where !line.isEmpty {
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else { return nil }
            fields.append(
                name: String(line[..<colon]),
                value: line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
        }
        let reason = parts.count > 2 ? String(parts[2].filter { !$0.isNewline }.prefix(100)) : ""
        return (status, reason, fields)
    }
}

extension HTTPFields {
    /// Refuses names and values that would end their line (RFC 9110, section 5.5).
    package func validate() throws(TransportError) {
        for field in fields {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") })
            else { throw TransportError(.invalidRequest, "a header has a name that cannot be sent") }
            guard !field.value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else {
                throw TransportError(.invalidRequest, "the header \(field.name) has a value that cannot be sent")
            }
        }
    }

    /// Also refuses names reserved for the WebSocket handshake (RFC 6455, section 4.1), and those that control the
    /// connection or the end of the request.
    package func validateForHandshake() throws(TransportError) {
        try validate()
        for field in fields {
            let name = String(decoding: field.name.utf8.map(\.asciiLowercased), as: UTF8.self)
            guard !Self.ofTheConnection.contains(name), !name.hasPrefix("sec-websocket-") else {
                throw TransportError(.invalidRequest, "the header \(field.name) belongs to the WebSocket handshake")
            }
        }
    }

    private static let ofTheConnection: Set = [
        "host", "upgrade", "connection", "content-length", "transfer-encoding", "te", "trailer", "expect", "keep-alive",
        "proxy-connection", "http2-settings",
    ]

    /// Returns whether a comma-separated field contains a token, ignoring case.
    fileprivate func hasToken(_ token: String, in name: String) -> Bool {
        fields.filter { $0.name.equalsIgnoringASCIICase(name) }
            .flatMap { $0.value.split(separator: ",") }
            .contains { $0.trimmingCharacters(in: .whitespaces).equalsIgnoringASCIICase(token) }
    }
}

extension URLComponents {
    /// The host in ASCII: an international name in the form used by look-ups and certificates (RFC 5890), an IPv6
    /// address in brackets.
    package var bracketedHost: String? {
        encodedHost.map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
    }

    /// The host as sent to the peer, without a zone, which means nothing there (RFC 6874, section 4).
    fileprivate var hostField: String? {
        bracketedHost.map { host in
            host.hasPrefix("[") ? host.prefix { $0 != "%" && $0 != "]" } + "]" : host
        }
    }
}
