import Foundation
import PusherHTTP
import TestSupport
import Testing

struct SignerTests {
    private struct Vectors: Decodable {
        struct Channel: Decodable {
            let key, secret, socket_id, channel, auth: String
            let channel_data: String?
        }

        struct User: Decodable {
            let key, secret, socket_id, user_data, auth: String
        }

        struct SharedSecret: Decodable {
            let channel, master_key_base64, shared_secret_base64: String
        }

        let channel_auth: [Channel]
        let user_auth: [User]
        let shared_secret: [SharedSecret]
    }

    private static let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private let vectors: Vectors
    private let signer = PusherSigner(
        key: "278d425bdf160c739803", secret: "7ad3773142a6692b25b8", encryptionMasterKey: masterKey)

    init() throws {
        vectors = try JSONDecoder().decode(Vectors.self, from: try Fixtures.data("vectors.json"))
    }

    private func members(_ answer: String) throws -> [String: String] {
        try #require(try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: String])
    }

    @Test func theVectorsOfChannelsAgree() throws {
        #expect(vectors.channel_auth.count == 15)
        for vector in vectors.channel_auth {
            let signer = PusherSigner(key: vector.key, secret: vector.secret, encryptionMasterKey: Self.masterKey)
            let answer = try members(
                try signer.authorizeChannel(
                    socketID: vector.socket_id, channel: vector.channel, channelData: vector.channel_data))
            #expect(answer["auth"] == vector.auth)
            #expect(answer["channel_data"] == vector.channel_data)
            #expect((answer["shared_secret"] != nil) == vector.channel.hasPrefix("private-encrypted-"))
        }
    }

    @Test func theVectorsOfUsersAgree() throws {
        #expect(vectors.user_auth.count == 4)
        for vector in vectors.user_auth {
            let signer = PusherSigner(key: vector.key, secret: vector.secret)
            let answer = try members(
                try signer.authenticateUser(socketID: vector.socket_id, userData: vector.user_data))
            #expect(answer == ["auth": vector.auth, "user_data": vector.user_data])
        }
    }

    @Test func theVectorsOfSharedSecretsAgree() throws {
        #expect(vectors.shared_secret.count == 4)
        for vector in vectors.shared_secret where Data(base64Encoded: vector.master_key_base64)?.count == 32 {
            let signer = PusherSigner(key: "k", secret: "s", encryptionMasterKey: vector.master_key_base64)
            let answer = try members(try signer.authorizeChannel(socketID: "1.2", channel: vector.channel))
            #expect(answer["shared_secret"] == vector.shared_secret_base64)
        }
    }

    @Test func aPresenceAnswerHoldsTheUser() throws {
        struct Info: Encodable {
            let name: String
        }
        let answer = try members(
            try signer.authorizeChannel(
                socketID: "1.2", channel: "presence-x", userID: "\"ann\"", userInfo: Info(name: "Ann/☃")))
        #expect(answer["channel_data"] == #"{"user_id":"\"ann\"","user_info":{"name":"Ann/☃"}}"#)
        let bare = try members(try signer.authorizeChannel(socketID: "1.2", channel: "presence-x", userID: "ann"))
        #expect(bare["channel_data"] == #"{"user_id":"ann"}"#)
    }

    @Test func aSignInIsMadeOfItsParts() throws {
        let vector = try #require(vectors.user_auth.last)
        #expect(
            try signer.authenticateUser(
                socketID: vector.socket_id, userID: "12345", userInfo: ["name": "Ann"], watchlist: ["u2", "u3"])
                == signer.authenticateUser(socketID: vector.socket_id, userData: vector.user_data))
    }

    @Test(
        arguments: [
            ("1.2:private-y", "private-x", nil, "socket id"), ("1", "private-x", nil, "socket id"),
            ("1.2\n", "private-x", nil, "socket id"), ("", "private-x", nil, "socket id"),
            ("1.2", "private x", nil, "cannot be a channel name"), ("1.2", "", nil, "cannot be a channel name"),
            ("1.2", "public", nil, "everybody may subscribe"),
            ("1.2", "#server-to-user-ann", nil, "only its user gets it"),
            ("1.2", "presence-x", nil, "needs a user id"), ("1.2", "presence-x", "{}", "with a user_id"),
            ("1.2", "presence-x", "nonsense", "with a user_id"),
            ("1.2", "presence-x", #"{"user_id":""}"#, "with a user_id"),
            ("1.2", "presence-x", #"{"user_id":null}"#, "with a user_id"),
        ] as [(String, String, String?, String)])
    func whatMustNotBeSignedIsRefused(socketID: String, channel: String, data: String?, reason: String) throws {
        let error = #expect(throws: PusherHTTPError.self) {
            try signer.authorizeChannel(socketID: socketID, channel: channel, channelData: data)
        }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        ("1.2:x", #"{"id":"1"}"#), ("1.2", "{}"), ("1.2", #"{"id":1}"#), ("1.2", #"{"id":""}"#), ("1.2", "nonsense"),
        ("1.2", #"{"id":"a b"}"#),
    ])
    func whoMustNotBeSignedInIsRefused(socketID: String, userData: String) throws {
        let error = #expect(throws: PusherHTTPError.self) {
            try signer.authenticateUser(socketID: socketID, userData: userData)
        }
        #expect(error?.kind == .invalidArgument)
    }

    @Test(
        arguments: [(nil, "needs an encryptionMasterKey"), ("AAAA", "is not base64 of 32 bytes")] as [(String?, String)]
    )
    func encryptedChannelsNeedAMasterKey(masterKey: String?, reason: String) throws {
        let signer = PusherSigner(key: "k", secret: "s", encryptionMasterKey: masterKey)
        let error = #expect(throws: PusherHTTPError.self) {
            try signer.authorizeChannel(socketID: "1.2", channel: "private-encrypted-x")
        }
        #expect(error?.message.contains(reason) == true)
    }

    @Test func descriptionsHoldNoSecret() {
        #expect("\(signer)" == "a signer with the credentials of key 278d425bdf160c739803")
        let client = PusherHTTPClient(
            appID: "1", key: "k", secret: "s3cret", encryptionMasterKey: Self.masterKey)
        for text in ["\(client)", String(reflecting: client)] {
            #expect(!text.contains("s3cret"))
            #expect(!text.contains(Self.masterKey))
        }
    }
}
