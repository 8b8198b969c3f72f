import Basics
public import Foundation
import PusherProtocol

/// A verified request from the server to the application's webhook URL.
///
///     let webhook = try PusherWebhook(
///         body: bytes, key: headers["X-Pusher-Key"], signature: headers["X-Pusher-Signature"],
///         secrets: ["key": "secret"])
///     for event in webhook.events {
///         if case .channelVacated(let channel) = event { … }
///     }
///
/// Answer with 2xx, or the server repeats the request.
public struct PusherWebhook: Hashable, Sendable {
    /// The time at which the server made the request, in milliseconds since 1970.
    public let timeMilliseconds: Int
    /// The events, in order.
    public let events: [PusherWebhookEvent]

    /// The time at which the server made the request.
    public var time: Date { Date(timeIntervalSince1970: Double(timeMilliseconds) / 1000) }

    /// Verifies the signature, then parses the body.
    ///
    /// - Parameters:
    ///   - body: The body as received, byte for byte. Parsing and re-encoding the JSON breaks the signature.
    ///   - key: The header `X-Pusher-Key`.
    ///   - signature: The header `X-Pusher-Signature`.
    ///   - secrets: The secret of each key that may sign. There are several while keys are rotated.
    ///   - encryptionMasterKey: Base64 of 32 bytes, to decrypt client events of encrypted channels.
    ///   - maximumAge: The maximum time before or after `now`, which prevents replays of old requests. Default: ten
    ///     minutes. `nil` accepts any age: then keep track of the requests that you have handled.
    /// - Throws: ``PusherWebhookError``.
    public init(
        body: some Sequence<UInt8>, key: String?, signature: String?, secrets: [String: String],
        encryptionMasterKey: String? = nil, maximumAge: Duration? = .seconds(600), now: Date = Date()
    ) throws(PusherWebhookError) {
        let body = Array(body)
        try Self.verify(body, key: key, signature: signature, secrets: secrets)
        let masterKey = try encryptionMasterKey.map { text throws(PusherWebhookError) in
            guard let key = EncryptionMasterKey(base64: text) else {
                throw PusherWebhookError(.invalidArgument, "the encryptionMasterKey is not base64 of 32 bytes")
            }
            return key
        }
        guard let text = String(validating: body, as: UTF8.self), let object = JSON.object(text),
            let time = JSON.integer(object["time_ms"]), let events = object["events"] as? [[String: Any]]
        else {
            throw PusherWebhookError(.malformed, "the body is not a JSON object with time_ms and events")
        }
        timeMilliseconds = time
        self.events = events.map { PusherWebhookEvent($0, masterKey: masterKey) }
        if let maximumAge { try Self.verify(time, maximumAge: maximumAge, now: now) }
    }

    private static func verify(
        _ time: Int, maximumAge: Duration, now: Date
    ) throws(PusherWebhookError) {
        guard let now = Int64(exactly: (now.timeIntervalSince1970 * 1000).rounded()) else {
            throw PusherWebhookError(.invalidArgument, "the present time is not one that can be compared with")
        }
        // A Duration can hold the difference of any two such numbers.
        let age = Duration.milliseconds(now) - .milliseconds(time)
        let seconds = age.components.seconds
        if age > maximumAge { throw PusherWebhookError(.outdated, "the webhook was made \(seconds) seconds ago") }
        if .zero - age > maximumAge {
            throw PusherWebhookError(.outdated, "the webhook says that it was made \(-seconds) seconds from now")
        }
    }

    private static func verify(
        _ body: [UInt8], key: String?, signature: String?, secrets: [String: String]
    ) throws(PusherWebhookError) {
        guard let key else { throw PusherWebhookError(.unknownKey, "there is no X-Pusher-Key") }
        guard let secret = secrets[key] else {
            throw PusherWebhookError(.unknownKey, "X-Pusher-Key is none of the application's keys")
        }
        guard let signature else { throw PusherWebhookError(.wrongSignature, "there is no X-Pusher-Signature") }
        let expected = AppCredentials(key: key, secret: secret).webhookSignature(body: body)
        guard Digest.areEqual(Array(expected.utf8), Array(signature.utf8)) else {
            throw PusherWebhookError(
                .wrongSignature, "X-Pusher-Signature is not that of this body: another secret, or the body was changed")
        }
    }
}
