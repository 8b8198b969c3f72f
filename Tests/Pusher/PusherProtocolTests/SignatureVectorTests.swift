import Basics
import Foundation
import PusherProtocol
import TestSupport
import Testing

/// The vectors of `Fixtures/vectors.json`, cross-checked against the official server libraries.
struct SignatureVectorTests {
    struct Vectors: Decodable {
        struct Channel: Decodable {
            let key, secret, socket_id, channel, auth: String
            let channel_data: String?
        }

        struct User: Decodable {
            let key, secret, socket_id, user_data, auth: String
        }

        struct Webhook: Decodable {
            let key, secret, body, x_pusher_signature: String
        }

        struct MAC: Decodable {
            let secret, message, digest: String
        }

        struct Hash: Decodable {
            let message, digest: String
        }

        let channel_auth: [Channel]
        let user_auth: [User]
        let webhook: [Webhook]
        let hmac_sha256_hex: [MAC]
        let md5_hex: [Hash]
    }

    private let vectors: Vectors

    init() throws {
        vectors = try JSONDecoder().decode(Vectors.self, from: try Fixtures.data("vectors.json"))
    }

    @Test func channels() throws {
        #expect(vectors.channel_auth.count == 15)
        for vector in vectors.channel_auth {
            let credentials = AppCredentials(key: vector.key, secret: vector.secret)
            let socketID = try #require(SocketID(vector.socket_id))
            let channel = try ChannelName(vector.channel)
            let auth = credentials.channelAuth(socketID: socketID, channel: channel, channelData: vector.channel_data)
            #expect(auth == vector.auth)
            #expect(
                credentials.accepts(
                    channelAuth: vector.auth, socketID: socketID, channel: channel, channelData: vector.channel_data))
            #expect(
                !credentials.accepts(
                    channelAuth: vector.auth + "0", socketID: socketID, channel: channel,
                    channelData: vector.channel_data))
        }
    }

    @Test func users() throws {
        for vector in vectors.user_auth {
            let socketID = try #require(SocketID(vector.socket_id))
            let credentials = AppCredentials(key: vector.key, secret: vector.secret)
            #expect(credentials.userAuth(socketID: socketID, userData: vector.user_data) == vector.auth)
            #expect(credentials.accepts(userAuth: vector.auth, socketID: socketID, userData: vector.user_data))
            #expect(!credentials.accepts(userAuth: vector.auth, socketID: socketID, userData: vector.user_data + " "))
        }
    }

    @Test func webhooks() {
        for vector in vectors.webhook {
            let credentials = AppCredentials(key: vector.key, secret: vector.secret)
            #expect(credentials.webhookSignature(body: Array(vector.body.utf8)) == vector.x_pusher_signature)
        }
    }

    @Test func digests() {
        for vector in vectors.hmac_sha256_hex {
            let mac = Digest.hmacSHA256(key: Array(vector.secret.utf8), message: Array(vector.message.utf8))
            #expect(mac.hexadecimal == vector.digest)
        }
        for vector in vectors.md5_hex {
            #expect(Digest.md5(Array(vector.message.utf8)).hexadecimal == vector.digest)
        }
    }

    @Test func descriptionsHoldNoSecret() {
        #expect("\(AppCredentials(key: "key", secret: "s3cret"))" == "credentials of key key")
    }
}
