import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// Peers without support for requests and `done`, and with only the old codes: matrix-nio 0.25.2.
@Suite struct VerificationWithoutRequestTests {
    private let scene: VerificationScene
    private let server: KeyServer
    private let (alice, bob): (TestDevice, TestDevice)
    private let pair = Curve25519KeyPair(random: .system)

    init() throws {
        scene = try VerificationScene()
        (server, alice, bob) = (scene.server, scene.alice, scene.bob)
    }

    private func content(_ body: (inout JSONWriter) -> Void) -> JSONView {
        object { content in
            body(&content)
            content.add("transaction_id", "nio")
        }
    }

    private func party(_ device: TestDevice, _ key: Curve25519PublicKey) -> SASParty {
        SASParty(userID: device.address.user, deviceID: device.address.device, key: key)
    }

    /// Sends a message as Bob's device, like the peer.
    private func say(_ type: String, _ body: (inout JSONWriter) -> Void) throws {
        server.inject(type, content(body), from: "@bob:s", to: alice.address)
        try alice.sync()
    }

    private func heard(_ type: String) throws -> JSONView {
        let message = try #require(server.messages(to: bob.address).last)
        #expect(message["type"]?.string == "m.key.verification." + type)
        return try #require(message["content"])
    }

    private func start(codes: String = #"["hkdf-hmac-sha256","hmac-sha256"]"#) -> JSONView {
        content { content in
            content.add("from_device", "B")
            content.add("method", "m.sas.v1")
            content.add("key_agreement_protocols", json: #"["curve25519","curve25519-hkdf-sha256"]"#)
            content.add("hashes", json: #"["sha256"]"#)
            content.add("message_authentication_codes", json: codes)
            content.add("short_authentication_string", json: #"["emoji","decimal"]"#)
        }
    }

    @Test(.rule("R28")) func theOldCodesServeAPeerThatHasNoOthers() throws {
        let start = start()
        server.inject("start", start, from: "@bob:s", to: alice.address)
        try alice.sync()
        #expect(try alice.state == .requested && alice.verification.direction == .incoming)
        #expect(server.messages(to: bob.address).isEmpty)  // our user is asked
        try alice.acceptVerification()
        let accept = try heard("accept")
        #expect(accept["message_authentication_code"]?.string == "hkdf-hmac-sha256")
        #expect(accept["key_agreement_protocol"]?.string == "curve25519-hkdf-sha256")
        try say("key") { $0.add("key", pair.publicKey.base64) }
        let key = try Curve25519PublicKey(base64: try #require(heard("key")["key"]?.string))
        try ShortAuthenticationString.verify(
            commitment: try #require(accept["commitment"]?.string), key: key, start: start)
        let secret = try pair.sharedSecret(with: key)
        let (own, other) = (party(bob, pair.publicKey), party(alice, key))
        let sas = ShortAuthenticationString(secret: secret, starter: own, accepter: other, transactionID: "nio")
        #expect(try alice.shown == sas.emoji.map(\.index) + sas.decimals)
        let codes = SASAuthentication(
            secret: secret, method: .v1, sender: own, receiver: other, transactionID: "nio"
        ).content(of: ["ed25519:B": bob.machine.account.ed25519.publicKey])
        try say("mac") { content in for (key, value) in codes.members { content.add(key, value) } }
        try alice.confirmSame()
        let sent = try #require(
            server.requests.last { $0.call.isMessage("mac") }.flatMap { JSONView(Array($0.body.utf8)) })
        let verified = try SASAuthentication(
            secret: secret, method: .v1, sender: other, receiver: own, transactionID: "nio"
        ).verify(
            try #require(sent["messages"]?["@bob:s"]?["B"]),
            known: ["ed25519:A": alice.machine.account.ed25519.publicKey])
        #expect(verified == ["ed25519:A"])
        #expect(try alice.state == .verified && alice.trust(bob).isVerified)
        #expect(try !alice.isVerified("@bob:s"))  // that key was not among them
        try alice.wait(600_000)
        #expect(try alice.state == .done)
    }

    @Test(arguments: [
        #"["hkdf-hmac-sha256.v2","hkdf-hmac-sha256"]"#, #"["hkdf-hmac-sha256","hkdf-hmac-sha256.v2"]"#,
    ]) func whoHasTheNewCodesIsAnsweredWithThem(codes: String) throws {
        server.inject("start", start(codes: codes), from: "@bob:s", to: alice.address)
        try alice.sync()
        try alice.acceptVerification()
        #expect(try heard("accept")["message_authentication_code"]?.string == "hkdf-hmac-sha256.v2")
    }

    @Test func aPeerWithoutCommonChoicesIsNotAsked() throws {
        for start in [
            start(codes: #"["hmac-sha256"]"#), start().with(["hashes": #"["md5"]"#]),
            start().with(["key_agreement_protocols": #"["curve25519"]"#]),
            start().with(["short_authentication_string": "[]"]), start().with(["method": #""m.new""#]),
            start().with(["hashes": nil]), start().with(["from_device": nil]),
        ] {
            server.inject("start", start, from: "@bob:s", to: alice.address)
            try alice.sync()
            #expect(alice.machine.verifications.isEmpty)
        }
    }

    @Test func ourOwnStartWithoutARequest() throws {
        let id = try alice.turn { try $0.startComparing(with: bob.address, &$1) }
        try alice.pump()
        #expect(try heard("start")["transaction_id"]?.string == id.transaction)
        try bob.sync()
        try bob.acceptVerification()
        try scene.exchange(alice, bob)
        #expect(try alice.isComparing && alice.shown == bob.shown)
        for device in [alice, bob] { try device.confirmSame() }
        try scene.exchange(alice, bob)
        #expect(try alice.state == .done && bob.state == .done && alice.isVerified("@bob:s"))
    }

    @Test func ourUserDeclines() throws {
        server.inject("start", start(), from: "@bob:s", to: alice.address)
        try alice.sync()
        try alice.cancelVerification()
        #expect(try heard("cancel")["code"]?.string == "m.user")
        #expect(server.types(to: bob.address) == ["cancel"])
    }
}
