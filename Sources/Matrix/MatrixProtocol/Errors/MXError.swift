import Basics
public import Foundation
public import JSONBytes

/// An error returned by the homeserver (client-server specification, "Standard error response").
///
/// ``errcode`` identifies the error; for `M_UNKNOWN`, only ``status`` does.
public struct MXError: Error, Sendable, Hashable {
    /// The error code, such as `M_FORBIDDEN`.
    public let errcode: String
    /// The server's message for people: one line of at most 500 characters, without control characters.
    public let error: String
    /// The HTTP status code.
    public let status: Int
    /// The delay before a retry, if the server gives one.
    public let retryAfter: Duration?
    /// With `M_UNKNOWN_TOKEN`: whether the device still exists, so that a new login with its id can resume.
    public let isSoftLogout: Bool
    private let body: Data
    private static let maximumLength = 500

    /// The server's complete answer, unsuitable for logs; named as in the iOS SDK.
    public var userInfo: [String: Any] {
        (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:]
    }

    /// Returns another field of the answer.
    public subscript(field: String) -> JSONView? { JSONView(Array(body))?[field] }

    /// Creates an error that does not come from a server.
    public init(errcode: String, error: String, status: Int = 400) {
        self.errcode = PeerText(errcode).line(limit: Self.maximumLength)
        self.error = PeerText(error).line(limit: Self.maximumLength)
        self.status = status
        retryAfter = nil
        isSoftLogout = false
        body = Data()
    }

    /// - Parameter retryAfter: The value of that header field, in seconds.
    /// - Returns: `nil` if `body` is not an error of the protocol.
    package init?(status: Int, body: [UInt8], retryAfter: String? = nil) {
        guard let json = JSONView(body), let errcode = json["errcode"]?.string else { return nil }
        self.errcode = PeerText(errcode).line(limit: Self.maximumLength)
        error = PeerText(json["error"]?.string ?? "").line(limit: Self.maximumLength)
        self.status = status
        // Ignore a negative time.
        let milliseconds = json["retry_after_ms"]?.wholePart.flatMap { $0 < 0 ? nil : min($0, 86_400_000) }
        let seconds = retryAfter.flatMap { Int($0) }.flatMap { $0 < 0 ? nil : min($0, 86_400) }
        self.retryAfter = milliseconds.map { .milliseconds($0) } ?? seconds.map { .seconds($0) }
        isSoftLogout = json["soft_logout"]?.bool ?? false
        self.body = Data(body)
    }
}

extension MXError: CustomStringConvertible, LocalizedError {
    /// The server's message and the code.
    public var description: String {
        error.isEmpty ? "the homeserver answered \(errcode)" : "\(error) (\(errcode))"
    }

    /// Same as ``description``.
    public var errorDescription: String? { description }
}

// The codes of `MXError.errcode`, under the names of the iOS SDK.

/// The request is not allowed, or the password is wrong.
public let kMXErrCodeStringForbidden = "M_FORBIDDEN"
/// No other code applies; see the status.
public let kMXErrCodeStringUnknown = "M_UNKNOWN"
/// The access token has expired or been revoked.
public let kMXErrCodeStringUnknownToken = "M_UNKNOWN_TOKEN"
/// No access token was sent.
public let kMXErrCodeStringMissingToken = "M_MISSING_TOKEN"
/// The request's JSON does not fit the endpoint.
public let kMXErrCodeStringBadJSON = "M_BAD_JSON"
/// The request is not JSON.
public let kMXErrCodeStringNotJSON = "M_NOT_JSON"
/// The resource was not found.
public let kMXErrCodeStringNotFound = "M_NOT_FOUND"
/// Too many requests; wait for the time that the server gives.
public let kMXErrCodeStringLimitExceeded = "M_LIMIT_EXCEEDED"
/// The server does not know the endpoint.
public let kMXErrCodeStringUnrecognized = "M_UNRECOGNIZED"
/// The user name is taken.
public let kMXErrCodeStringUserInUse = "M_USER_IN_USE"
/// The user name has characters that are not allowed.
public let kMXErrCodeStringInvalidUsername = "M_INVALID_USERNAME"
/// The alias is taken.
public let kMXErrCodeStringRoomInUse = "M_ROOM_IN_USE"
/// The event or file is larger than the server allows.
public let kMXErrCodeStringTooLarge = "M_TOO_LARGE"
/// We have already reacted in this way.
public let kMXErrCodeStringDuplicateAnnotation = "M_DUPLICATE_ANNOTATION"
/// The media has not been uploaded yet.
public let kMXErrCodeStringNotYetUploaded = "M_NOT_YET_UPLOADED"
/// The server has reached a resource limit.
public let kMXErrCodeStringResourceLimitExceeded = "M_RESOURCE_LIMIT_EXCEEDED"
/// The user must first agree to the server's terms.
public let kMXErrCodeStringConsentNotGiven = "M_CONSENT_NOT_GIVEN"
/// The password is too weak.
public let kMXErrCodeStringWeakPassword = "M_WEAK_PASSWORD"
/// The server no longer knows the connection.
public let kMXErrCodeStringUnknownPosition = "M_UNKNOWN_POS"
