import Foundation

/// The access of pages from other origins to the auth endpoints, as reported to browsers.
///
/// Fetch standard, "CORS protocol". Answers only repeat values from the configuration, never a request's own claims; of
/// the requested header names they repeat only valid ones.
struct CrossOriginAccess {
    /// The maximum number of requested header names in an answer; further ones are left out.
    private static let maximumHeaderCount = 50
    private static let maximumHeaderNameLength = 100

    private let origins: Set<String>
    private let admitsAll: Bool

    init(_ allowedOrigins: [String]) {
        admitsAll = allowedOrigins.contains("*")
        origins = Set(allowedOrigins.compactMap { WebOrigin($0)?.text })
    }

    private var isOff: Bool { origins.isEmpty && !admitsAll }

    /// Returns the fields to add to an answer.
    func fields(for request: APIRequest) -> [String: String] {
        guard !isOff else { return [:] }
        // Also set if the origin is refused: a cached refusal must not apply to another origin.
        var fields = ["Vary": "Origin"]
        if let origin = request.headers["origin"], origins.contains(origin) {
            fields["Access-Control-Allow-Origin"] = origin
            fields["Access-Control-Allow-Credentials"] = "true"
        } else if admitsAll, request.headers["origin"] != nil {
            fields["Access-Control-Allow-Origin"] = "*"
        }
        return fields
    }

    /// Returns the answer to a preflight request; `nil` if this is a different request.
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
