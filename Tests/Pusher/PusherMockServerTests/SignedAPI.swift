import Basics
import Foundation
import FoundationNetworking
import PusherMockServer
import PusherProtocol
import TestSupport
import Testing
import Transport

/// HTTP API calls with Foundation's client, signed here.
struct SignedAPI {
    struct Answer: Equatable {
        let status: Int
        let body: String
    }

    let server: PusherMockServer
    var credentials = TestClient.credentials
    var timestamp = Int(Date().timeIntervalSince1970)

    func get(_ path: String, _ query: [(String, String)] = []) async throws -> Answer {
        try await call("GET", path, query, body: nil)
    }

    func post(_ path: String, _ body: String) async throws -> Answer {
        try await call("POST", path, [], body: body)
    }

    /// - Parameters:
    ///   - digest: The `body_md5` to send instead of the correct one.
    ///   - change: A change to the query after signing.
    func call(
        _ method: String, _ path: String, _ query: [(String, String)] = [], body: String?, digest: String? = nil,
        change: (inout [(name: String, value: String)]) -> Void = { _ in }
    ) async throws -> Answer {
        try await call(
            method, absolutePath: "/apps/\(PusherMockServer.App.defaultID)/\(path)", query, body: body, digest: digest,
            change: change)
    }

    func call(
        _ method: String, absolutePath path: String, _ query: [(String, String)] = [], body: String?,
        digest: String? = nil, change: (inout [(name: String, value: String)]) -> Void = { _ in }
    ) async throws -> Answer {
        var parameters: [(name: String, value: String)] =
            query + [
                ("auth_key", credentials.key), ("auth_timestamp", "\(timestamp)"), ("auth_version", "1.0"),
            ]
        if let digest = digest ?? body.map({ Digest.md5(Array($0.utf8)).hexadecimal }) {
            parameters.append(("body_md5", digest))
        }
        let signature = credentials.httpSignature(method: method, path: path, query: parameters)
        parameters.append(("auth_signature", signature))
        change(&parameters)
        var components = URLComponents()
        components.path = path
        components.queryItems = parameters.map { URLQueryItem(name: $0.name, value: $0.value) }
        components.percentEncodedQuery = components.percentEncodedQuery?.replacing("+", with: "%2B")
        return try await SignedAPI.send(method, components.string ?? "", to: server, body: body)
    }

    /// Sends a request with an unmodified path, which URLs would resolve.
    ///
    /// - Returns: The whole answer.
    func raw(_ method: String, _ path: String, body: String?) async throws -> String {
        var parameters: [(name: String, value: String)] = [
            ("auth_key", credentials.key), ("auth_timestamp", "\(timestamp)"), ("auth_version", "1.0"),
        ]
        if let body { parameters.append(("body_md5", Digest.md5(Array(body.utf8)).hexadecimal)) }
        let signature = credentials.httpSignature(method: method, path: path, query: parameters)
        parameters.append(("auth_signature", signature))
        let query = parameters.map { "\($0.name)=\($0.value.percentEncoded)" }.joined(separator: "&")
        let peer = try #require(SocketServer.Peer.connect(port: server.port))
        defer { close(peer.descriptor) }
        peer.write(
            "\(method) \(path)?\(query) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                + "Content-Length: \(body?.utf8.count ?? 0)\r\n\r\n\(body ?? "")")
        var answer: [UInt8] = []
        while case let next = peer.read(), !next.isEmpty { answer += next }
        return String(decoding: answer, as: UTF8.self)
    }

    static func send(
        _ method: String, _ target: String, to server: PusherMockServer, body: String?, fields: [String: String] = [:]
    ) async throws -> Answer {
        guard let url = URL(string: "http://\(server.host):\(server.port)\(target)") else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await URLSession.shared.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        return Answer(status: status, body: String(decoding: data, as: UTF8.self))
    }
}
