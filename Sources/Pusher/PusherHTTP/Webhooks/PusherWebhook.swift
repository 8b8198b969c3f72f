import Basics
public import Foundation
import PusherProtocol

/// A request that the server made to the application's webhook URL, verified.
///
///     let webhook = try PusherWebhook(
///         body: bytes, key: headers["X-Pusher-Key"], signature: headers["X-Pusher-Signature"],
///         secrets: ["key": "secret"])
///     for event in webhook.events {
///         if case .channelVacated(let channel) = event { … }
///     }
///
/// Answer 2xx, or the server sends the same again.
public struct PusherWebhook: Hashable, Sendable {
    /// Milliseconds since 1970 when the server made the request.
    public let timeMilliseconds: Int
    /// What happened, in order.
    public let events: [PusherWebhookEvent]

    /// When the server made the request.
    public var time: Date { Date(timeIntervalSince1970: Double(timeMilliseconds) / 1000) }

    /// Verifies, then reads.
    ///
    /// - Parameters:
    ///   - body: The body as it came, byte for byte: reading and writing the JSON again breaks the signature.
    ///   - key: The header `X-Pusher-Key`.
    ///   - signature: The header `X-Pusher-Signature`.
    ///   - secrets: The secret of each key that may sign. While keys are rotated there are several.
    ///   - encryptionMasterKey: Base64 of 32 bytes, to decrypt client events of encrypted channels.
    ///   - maximumAge: Refuse what is further than this from `now`, before or after it, so that nobody can send an old
    ///     request again. Default: ten minutes. With nil any age is accepted: then remember what you have taken.
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
        // Durations hold the difference of any two such numbers.
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
