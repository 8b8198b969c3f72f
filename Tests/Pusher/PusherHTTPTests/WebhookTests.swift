import Foundation
import JSONBytes
import PusherProtocol
import TestSupport
import Testing

@testable import PusherHTTP

struct WebhookTests {
    private static let secrets = ["old": "secret-1", "new": "secret-2"]

    private func signature(_ body: String, secret: String = "secret-2") -> String {
        AppCredentials(key: "", secret: secret).webhookSignature(body: Array(body.utf8))
    }

    private func webhook(
        _ body: String, key: String = "new", masterKey: String? = nil, maximumAge: Duration? = nil, now: Int = 0
    ) throws(PusherWebhookError) -> PusherWebhook {
        try PusherWebhook(
            body: body.utf8, key: key, signature: signature(body, secret: Self.secrets[key] ?? ""),
            secrets: Self.secrets, encryptionMasterKey: masterKey, maximumAge: maximumAge,
            now: Date(timeIntervalSince1970: Double(now) / 1000))
    }

    @Test func theVectorsAgree() throws {
        struct Vectors: Decodable {
            struct Webhook: Decodable {
                let key, secret, body, x_pusher_signature: String
            }

            let webhook: [Webhook]
        }
        let vectors = try JSONDecoder().decode(Vectors.self, from: try Fixtures.data("vectors.json")).webhook
        func webhook(_ vector: Vectors.Webhook) throws(PusherWebhookError) -> PusherWebhook {
            try PusherWebhook(
                body: vector.body.utf8, key: vector.key, signature: vector.x_pusher_signature,
                secrets: [vector.key: vector.secret], maximumAge: nil)
        }
        let first = try webhook(try #require(vectors.first))
        #expect(first.events == [.channelOccupied(channel: "my-channel")])
        #expect(first.timeMilliseconds == 1_327_078_148_132)
        #expect(first.time == Date(timeIntervalSince1970: 1_327_078_148.132))
        // The second is a signature over JSON that is not a webhook.
        let last = try #require(vectors.last)
        #expect(throws: PusherWebhookError(.malformed, "the body is not a JSON object with time_ms and events")) {
            try webhook(last)
        }
    }

    @Test func everyEventIsTypedAndNothingIsLost() throws {
        let events = try webhook(
            """
            {"time_ms":1,"events":[{"name":"channel_vacated","channel":"a"},{"name":"cache_miss","channel":"cache-a"},
            {"name":"member_added","channel":"presence-a","user_id":"u"},
            {"name":"member_removed","channel":"presence-a","user_id":7},
            {"name":"subscription_count","channel":"a","subscription_count":3},
            {"name":"client_event","channel":"presence-a","event":"client-e","data":"{\\"x\\":1}","socket_id":"1.2","user_id":"u"},
            {"name":"client_event","channel":"private-a","event":"client-e","data":{"x":1},"socket_id":"1.2"},
            {"name":"later","channel":"a"},{"name":"member_added","channel":"presence-a"},{},
            {"name":"member_removed","channel":"presence-a","user_id":""}]}
            """
        ).events
        #expect(
            events == [
                .channelVacated(channel: "a"), .cacheMiss(channel: "cache-a"),
                .memberAdded(channel: "presence-a", userID: "u"), .memberRemoved(channel: "presence-a", userID: "7"),
                .subscriptionCount(channel: "a", count: 3),
                .clientEvent(
                    .init(
                        channel: "presence-a", event: "client-e", data: #"{"x":1}"#, isEncrypted: false,
                        socketID: "1.2", userID: "u")),
                .clientEvent(
                    .init(
                        channel: "private-a", event: "client-e", data: #"{"x":1}"#, isEncrypted: false,
                        socketID: "1.2", userID: nil)),
                .unknown(name: "later", json: #"{"channel":"a","name":"later"}"#),
                .unknown(name: "member_added", json: #"{"channel":"presence-a","name":"member_added"}"#),
                .unknown(name: nil, json: "{}"),
                .unknown(
                    name: "member_removed", json: #"{"channel":"presence-a","name":"member_removed","user_id":""}"#),
            ])
    }

    @Test func anyOfTheApplicationsKeysMaySign() throws {
        let body = #"{"time_ms":1,"events":[]}"#
        #expect(try webhook(body, key: "old") == webhook(body, key: "new"))
    }

    @Test(
        arguments: [
            (nil, "right", .unknownKey), ("other", "right", .unknownKey), ("new", nil, .wrongSignature),
            ("new", "", .wrongSignature), ("old", "right", .wrongSignature), ("new", "right+", .wrongSignature),
        ] as [(String?, String?, PusherWebhookError.Kind)])
    func whatIsNotSignedIsRefused(key: String?, signature: String?, kind: PusherWebhookError.Kind) {
        let body = #"{"time_ms":1,"events":[]}"#
        let signature = signature?.replacing("right", with: self.signature(body))
        let error = #expect(throws: PusherWebhookError.self) {
            try PusherWebhook(body: body.utf8, key: key, signature: signature, secrets: Self.secrets)
        }
        #expect(error?.kind == kind)
    }

    @Test func aChangedBodyIsRefused() {
        let body = #"{"time_ms":1,"events":[]}"#
        let error = #expect(throws: PusherWebhookError.self) {
            try PusherWebhook(
                body: (body + "\n").utf8, key: "new", signature: signature(body), secrets: Self.secrets)
        }
        #expect(error?.kind == .wrongSignature)
    }

    @Test(arguments: ["", "nonsense", "[]", #"{"events":[]}"#, #"{"time_ms":1}"#, #"{"time_ms":1,"events":[1]}"#])
    func signedNonsenseIsMalformed(body: String) {
        let error = #expect(throws: PusherWebhookError.self) { try webhook(body) }
        #expect(error?.kind == .malformed)
    }

    @Test(arguments: [
        (1_000_000, true), (1_300_000, true), (700_000, true), (1_300_001, false), (699_999, false), (0, false),
    ])
    func theAgeIsLimitedToBothSides(now: Int, isAccepted: Bool) throws {
        let body = #"{"time_ms":1000000,"events":[]}"#
        if isAccepted {
            _ = try webhook(body, maximumAge: .seconds(300), now: now)
        } else {
            let error = #expect(throws: PusherWebhookError.self) {
                try webhook(body, maximumAge: .seconds(300), now: now)
            }
            #expect(error?.kind == .outdated)
        }
        _ = try webhook(body, now: now)
    }

    /// No option is needed for that.
    @Test func anOldRequestIsRefusedByDefault() throws {
        func webhook(at milliseconds: Double) throws(PusherWebhookError) -> PusherWebhook {
            let body = #"{"time_ms":\#(Int(milliseconds)),"events":[]}"#
            return try PusherWebhook(
                body: body.utf8, key: "new", signature: signature(body), secrets: Self.secrets)
        }
        let now = Date().timeIntervalSince1970 * 1000
        _ = try webhook(at: now)
        _ = try webhook(at: now - 590_000)
        for (time, text) in [(now - 601_000, "seconds ago"), (now + 660_000, "seconds from now")] {
            let error = #expect(throws: PusherWebhookError.self) { try webhook(at: time) }
            #expect(error?.kind == .outdated)
            #expect(error?.message.contains(text) == true)
        }
    }

    /// Anyone with the secret may sign any number.
    @Test(arguments: [
        ("0", PusherWebhookError.Kind.outdated), ("-62167219200000", .outdated),  // year 0
        ("31494784780800000", .outdated),  // year 1,000,000
        ("-9223372036854775808", .outdated), ("9223372036854775807", .malformed), ("1e300", .malformed),
        ("-1e300", .malformed), ("1.5", .malformed), ("null", .malformed), ("true", .malformed), ("[]", .malformed),
    ])
    func absurdTimesAreRefused(time: String, kind: PusherWebhookError.Kind) {
        let body = #"{"time_ms":\#(time),"events":[]}"#
        for maximumAge in [Duration.seconds(600), .zero, .seconds(-1)] {
            let error = #expect(throws: PusherWebhookError.self) {
                try webhook(body, maximumAge: maximumAge, now: 1_000_000)
            }
            #expect(error?.kind == kind)
        }
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan, 1e300]) func anAbsurdPresentIsAnError(now: Double) {
        let body = #"{"time_ms":1,"events":[]}"#
        let error = #expect(throws: PusherWebhookError.self) {
            try PusherWebhook(
                body: body.utf8, key: "new", signature: signature(body), secrets: Self.secrets,
                now: Date(timeIntervalSince1970: now))
        }
        #expect(error?.kind == .invalidArgument)
    }

    @Test func clientEventsOfEncryptedChannelsAreDecrypted() throws {
        let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        let key = try #require(EncryptionMasterKey(base64: masterKey)).key(of: try ChannelName("private-encrypted-x"))
        let data = key.encrypt("hidden")
        let body =
            #"{"time_ms":1,"events":[{"name":"client_event","channel":"private-encrypted-x","event":"client-e","data":"#
            + "\(JSONString.quoted(data))}]}"
        func event(_ masterKey: String?) throws -> PusherWebhookEvent.ClientEvent? {
            guard case .clientEvent(let event) = try webhook(body, masterKey: masterKey).events.first else {
                return nil
            }
            return event
        }
        let opened = try event(masterKey)
        #expect(opened?.data == "hidden")
        #expect(opened?.isEncrypted == false)
        for masterKey in [nil, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="] {
            let closed = try event(masterKey)
            #expect(closed?.data == data)
            #expect(closed?.isEncrypted == true)
        }
        let error = #expect(throws: PusherWebhookError.self) { try event("AAAA") }
        #expect(error?.kind == .invalidArgument)
    }

    /// A webhook's time can be any number, the present any date, and the maximum age any duration.
    @Test(arguments: ["9223372036854775807", "-9223372036854775807", "1e18", "0"])
    func timesOfAnySize(time: String) throws {
        let body = #"{"time_ms":\#(time),"events":[]}"#
        for now in [0, .infinity, -.infinity, .nan, 1e300, -1e300, 1e15] {
            for age in [Duration.seconds(1e20), .seconds(Int64.max), .seconds(-1e20), .seconds(1), .zero, nil] {
                do throws(PusherWebhookError) {
                    _ = try PusherWebhook(
                        body: body.utf8, key: "new", signature: signature(body), secrets: Self.secrets,
                        maximumAge: age, now: Date(timeIntervalSince1970: now)
                    ).time
                } catch {
                    #expect([.outdated, .malformed, .invalidArgument].contains(error.kind))
                }
            }
        }
    }
}
