import Basics
import PusherProtocol

/// Checks the signature of an HTTP API request. Pusher HTTP API, "Authentication".
///
/// The parameters are signed as received: official libraries differ in when they send `body_md5`.
enum APIAuthentication {
    /// The maximum difference between a request's clock and the server's, in seconds.
    static let tolerance = 600

    /// - Parameter now: seconds since 1970.
    static func check(_ request: APIRequest, path: String, credentials: AppCredentials, now: Int) throws(APIFailure) {
        let target = request.target
        func required(_ name: String) throws(APIFailure) -> String {
            let values = target.query.filter { $0.name == name }.map(\.value)
            guard let value = values.first else { throw APIFailure(401, "Missing parameter: \(name)") }
            // Which value counts would depend on the reader.
            guard values.count == 1 else { throw APIFailure(401, "Repeated parameter: \(name)") }
            return value
        }
        let signature = try required("auth_signature")
        guard try required("auth_key") == credentials.key else { throw APIFailure(401, "Unknown auth_key") }
        guard try required("auth_version") == "1.0" else { throw APIFailure(401, "Unsupported auth_version") }
        guard let timestamp = Int(try required("auth_timestamp")) else {
            throw APIFailure(401, "Invalid auth_timestamp")
        }
        let (difference, overflow) = now.subtractingReportingOverflow(timestamp)
        guard !overflow, difference.magnitude <= UInt(tolerance) else {
            throw APIFailure(401, "Timestamp expired: auth_timestamp is not within \(tolerance)s of the server's time")
        }
        try checkDigest(of: request)
        let expected = credentials.httpSignature(
            method: request.method, path: path,
            query: target.query.filter { $0.name != "auth_signature" }.map { ($0.name, $0.value) })
        guard Digest.areEqual(Array(signature.utf8), Array(expected.utf8)) else {
            throw APIFailure(401, "Invalid signature: the auth_signature does not match the request")
        }
    }

    /// Checks `body_md5`: required with a body, and always correct if sent.
    private static func checkDigest(of request: APIRequest) throws(APIFailure) {
        let digests = request.target.query.filter { $0.name == "body_md5" }
        guard digests.count < 2 else { throw APIFailure(401, "Repeated parameter: body_md5") }
        guard let digest = digests.first?.value else {
            guard request.body.isEmpty else { throw APIFailure(401, "Missing parameter: body_md5") }
            return
        }
        guard digest == Digest.md5(request.body).hexadecimal else {
            throw APIFailure(401, "Invalid body_md5: it is not the digest of the body")
        }
    }
}
