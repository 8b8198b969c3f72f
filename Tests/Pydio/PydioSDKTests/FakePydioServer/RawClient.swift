import Basics
import CurlTransport
import Foundation
import PydioTestSupport
import Testing
import Transport

/// A minimal browser: it handles cookies and the secure token, and knows nothing of Pydio.
final class RawClient {
    struct Answer {
        let response: HTTPResponse

        var status: Int { response.status }
        var type: String { response.fields["Content-Type"] ?? "" }
        var text: String { String(decoding: response.body, as: UTF8.self) }
        /// The text after the declaration, which is required.
        var xml: String {
            #expect(text.hasPrefix(#"<?xml version="1.0" encoding="UTF-8"?>"#))
            #expect(type == "text/xml; charset=UTF-8")
            return String(text.drop { $0 != ">" }.dropFirst())
        }
        var json: Any? { try? JSONSerialization.jsonObject(with: Data(response.body)) }

        /// The value of the first attribute of that name.
        func attribute(_ name: String) -> String? { attributes(name).first }

        func attributes(_ name: String) -> [String] {
            text.components(separatedBy: " \(name)=\"").dropFirst().map { String($0.prefix { $0 != "\"" }) }
        }
    }

    let server: FakePydioServer
    var cookie: String?
    var token: String?
    var fields: HTTPFields = [:]
    var networkOptions = NetworkOptions(proxy: "")

    init(_ server: FakePydioServer) { self.server = server }

    /// Returns a client that is logged in.
    static func start(
        _ server: FakePydioServer, user: String = "ada", password: String = "open sesame"
    ) async throws -> RawClient {
        let client = RawClient(server)
        let answer = try await client.logIn(user, password)
        #expect(answer.attribute("value") == "1")
        client.token = answer.attribute("secure_token")
        return client
    }

    /// - Parameter seed: Requested from the server if it is `nil`.
    @discardableResult
    func logIn(
        _ user: String = "ada", _ password: String = "open sesame", seed given: String? = nil,
        _ more: KeyValuePairs<String, String> = [:]
    ) async throws -> Answer {
        let seed: String
        if let given { seed = given } else { seed = try await get("get_seed").text }
        func hash(_ text: String) -> String { Digest.md5(Array(text.utf8)).hexadecimal }
        let sent = seed == "-1" ? password : hash(hash(password) + seed)
        return try await post("login", ["userid": user, "password": sent, "login_seed": seed], more)
    }

    func get(
        _ action: String, _ parameters: KeyValuePairs<String, String> = [:], fields: HTTPFields = [:]
    ) async throws -> Answer {
        try await send(
            HTTPRequest(url: server.address + "/index.php?" + encoded(action, [parameters])), fields: fields)
    }

    func post(_ action: String, _ parameters: KeyValuePairs<String, String>...) async throws -> Answer {
        var request = HTTPRequest(method: "POST", url: server.address + "/index.php")
        request.fields["Content-Type"] = "application/x-www-form-urlencoded"
        request.body = Array(encoded(action, parameters).utf8)
        return try await send(request)
    }

    func upload(
        _ bytes: [UInt8], _ parameters: KeyValuePairs<String, String>, part: String = "userfile_0"
    ) async throws -> Answer {
        var request = HTTPRequest(
            method: "POST", url: server.address + "/index.php?" + encoded("upload", [parameters]))
        request.fields["Content-Type"] = "multipart/form-data; boundary=----limit"
        let head =
            "------limit\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nx\r\n------limit\r\n"
            + "Content-Disposition: form-data; name=\"\(part)\"; filename=\"any\"\r\n"
            + "Content-Type: application/octet-stream\r\n\r\n"
        request.body = Array(head.utf8) + bytes + Array("\r\n------limit--\r\n".utf8)
        return try await send(request)
    }

    /// Requests a path below the server, with only the session's cookie added.
    func open(_ path: String, method: String = "GET", body: [UInt8] = []) async throws -> Answer {
        try await send(HTTPRequest(method: method, url: server.address + path, body: body))
    }

    private func encoded(_ action: String, _ parameters: [KeyValuePairs<String, String>]) -> String {
        var pairs = [("get_action", action)] + parameters.flatMap { $0.map { ($0.key, $0.value) } }
        if let token { pairs.append(("secure_token", token)) }
        return pairs.map { "\($0.0)=\($0.1.percentEncoded)" }.joined(separator: "&")
    }

    private func send(_ request: HTTPRequest, fields more: HTTPFields = [:]) async throws -> Answer {
        var request = request
        for field in fields.fields + more.fields { request.fields.append(name: field.name, value: field.value) }
        if let cookie { request.fields["Cookie"] = "AjaXplorer=\(cookie)" }
        let response = try await HTTPClient.send(request, options: networkOptions)
        for field in response.fields.fields where field.name == "Set-Cookie" && field.value.hasPrefix("AjaXplorer=") {
            #expect(field.value.hasSuffix("; path=/; HttpOnly"))
            cookie = String(field.value.dropFirst(11).prefix { $0 != ";" })
        }
        return Answer(response: response)
    }
}
