import Foundation

/// What browsers are told about pages of other origins that use the auth endpoints.
///
/// Fetch standard, "CORS protocol". Only what the configuration says is repeated, never what a request claims to be; of the
/// header names that a page asks for only those that are names.
struct CrossOriginAccess {
    /// Requested header names that are allowed; of more the rest is left out.
    private static let maximumHeaderCount = 50
    private static let maximumHeaderNameLength = 100

    private let origins: Set<String>
    private let admitsAll: Bool

    init(_ allowedOrigins: [String]) {
        admitsAll = allowedOrigins.contains("*")
        origins = Set(allowedOrigins.compactMap { WebOrigin($0)?.text })
    }

    private var isOff: Bool { origins.isEmpty && !admitsAll }

    /// What is added to each answer.
    func fields(for request: APIRequest) -> [String: String] {
        guard !isOff else { return [:] }
        // Also where the origin is refused: what a cache keeps of that is for no other origin.
        var fields = ["Vary": "Origin"]
        if let origin = request.headers["origin"], origins.contains(origin) {
            fields["Access-Control-Allow-Origin"] = origin
            fields["Access-Control-Allow-Credentials"] = "true"
        } else if admitsAll, request.headers["origin"] != nil {
            fields["Access-Control-Allow-Origin"] = "*"
        }
        return fields
    }

    /// The answer to the question whether a page may send its request; nil if this is no such question.
    func preflightAnswer(to request: APIRequest) -> APIResponse? {
        guard !isOff, request.method == "OPTIONS", request.headers["access-control-request-method"] != nil else {
            return nil
        }
        var fields = fields(for: request)
        if fields["Access-Control-Allow-Origin"] != nil {
            fields["Access-Control-Allow-Methods"] = "POST"
            let names = headerNames(in: request.headers["access-control-request-headers"] ?? "")
            if !names.isEmpty { fields["Access-Control-Allow-Headers"] = names.joined(separator: ", ") }
        }
        return APIResponse(status: 204, body: "", headers: fields)
    }

    private func headerNames(in list: String) -> [String] {
        list.split(separator: ",").prefix(Self.maximumHeaderCount)
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { $0.utf8.count <= Self.maximumHeaderNameLength && $0.wholeMatch(of: Self.token) != nil }
    }

    /// RFC 9110, section 5.6.2.
    private static var token: Regex<Substring> { #/[A-Za-z0-9!#$%&'*+.^_`|~\-]+/# }
}
