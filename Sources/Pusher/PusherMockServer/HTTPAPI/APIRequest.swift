/// One complete HTTP request.
struct APIRequest {
    var method: String
    var target: RequestTarget
    /// The header fields by name in lower case; the last value if a field is repeated.
    var headers: [String: String] = [:]
    var body: [UInt8] = []

    var bodyText: String { String(decoding: body, as: UTF8.self) }
}

struct APIResponse: Hashable {
    var status: Int
    var body: String
    var contentType = "text/plain; charset=utf-8"
    var headers: [String: String] = [:]

    func adding(_ fields: [String: String]) -> Self {
        var response = self
        response.headers.merge(fields) { $1 }
        return response
    }

    static func json(_ text: String) -> Self {
        Self(status: 200, body: text, contentType: "application/json")
    }
}

/// A request that is answered with an error text.
struct APIFailure: Error, Hashable {
    let status: Int
    let message: String

    init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }

    var response: APIResponse { APIResponse(status: status, body: message + "\n") }
}
