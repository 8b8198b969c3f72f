import Foundation
import TestSupport
import Testing

/// The commands that sign, verify and encrypt, without a network.
@Suite(.overSockets)
struct SigningCommandTests {
    private static let masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let body =
        #"{"time_ms":1327078148132,"events":[{"name":"channel_occupied","channel":"my-channel"}]}"#
    private static let signature = "c19001ae3963ccb13bf618e5b16ba9848e7e74df0993aa0689168e341c6833cf"

    private func run(_ arguments: String..., input: String = "") throws -> CommandRun {
        try CommandRun(
            arguments,
            environment: [
                "PUSHER_KEY": "278d425bdf160c739803", "PUSHER_SECRET": "7ad3773142a6692b25b8",
                "PUSHER_ENCRYPTION_MASTER_KEY": Self.masterKey,
            ], input: input)
    }

    private func members(_ command: CommandRun) throws -> [String: String] {
        let line = try #require(command.output.first)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
    }

    @Test func authPrintsWhatAnEndpointAnswers() async throws {
        let channel = try run("auth", "private-foobar", "1234.1234")
        #expect(await channel.status() == 0)
        #expect(
            channel.output == [
                #"{"auth":"278d425bdf160c739803:58df8b0c36d6982b82c3ecf6b4662e34fe8c25bba48f5369f135bf843651c3a4"}"#
            ])
        let presence = try run(
            "auth", "presence-x", "1234.1234", "--user-id", "ann", "--user-info", #"{"b":1, "a":2}"#)
        #expect(await presence.status() == 0)
        #expect(try members(presence)["channel_data"] == #"{"user_id":"ann","user_info":{"b":1, "a":2}}"#)
        let encrypted = try run("auth", "private-encrypted-room", "1234.1234")
        #expect(await encrypted.status() == 0)
        #expect(try members(encrypted)["shared_secret"] == "jLl7T7Vic8zzeBQOhI8a5zJ4iMwqc2omg0xT37NC5hs=")
    }

    @Test(arguments: ["12345", #"{"id":"12345"}"#])
    func authSignsAUserIn(user: String) async throws {
        let command = try run("auth", "--user", user, "1234.1234")
        #expect(await command.status() == 0)
        #expect(
            try members(command) == [
                "auth": "278d425bdf160c739803:4708d583dada6a56435fb8bc611c77c359a31eebde13337c16ab43aa6de336ba",
                "user_data": #"{"id":"12345"}"#,
            ])
    }

    @Test(arguments: [
        ["--user", "{}", "1.2"], ["--user", #"{"id":"a b"}"#, "1.2"], ["--user", #"{"id":1}"#, "1.2"],
    ])
    func whatMustNotBeSignedIsStatus65(arguments: [String]) async throws {
        let command = try CommandRun(["auth"] + arguments, environment: ["PUSHER_KEY": "k", "PUSHER_SECRET": "s"])
        #expect(await command.status() == 65)
        #expect(command.output == [])
    }

    @Test func aWebhookIsVerifiedFromFileOrStandardInput() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "webhook-\(UUID().uuidString).json")
        try Data(Self.body.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let fromFile = try run("webhook", "verify", file.path, "--signature", Self.signature, "--any-age", "--json")
        #expect(await fromFile.status() == 0)
        #expect(
            fromFile.output == [
                #"{"type":"webhook","time":"2012-01-20T16:49:08.132Z","name":"channel_occupied","channel":"my-channel"}"#
            ])
        let fromInput = try run("webhook", "verify", "--signature", Self.signature, "--any-age", input: Self.body)
        #expect(await fromInput.status() == 0)
        #expect(fromInput.output.first?.hasSuffix("  my-channel  channel_occupied") == true)
    }

    @Test func whatIsNotTheServersIsStatus77AndNonsense65() async throws {
        let changed = try run("webhook", "verify", "--signature", Self.signature, input: Self.body + "\n")
        #expect(await changed.status() == 77)
        let otherKey = try run(
            "webhook", "verify", "--signature", Self.signature, "--header-key", "other", input: Self.body)
        #expect(await otherKey.status() == 77)
        let old = try run(
            "webhook", "verify", "--signature", Self.signature, "--maximum-age", "300", input: Self.body)
        #expect(await old.status() == 65)
        let byDefault = try run("webhook", "verify", "--signature", Self.signature, input: Self.body)
        #expect(await byDefault.status() == 65)
        #expect(byDefault.errors.contains { $0.contains("seconds ago") })
        // The secret's HMAC of nothing.
        let nonsense = try CommandRun(
            [
                "webhook", "verify", "--signature",
                "9074a74de0f34ece3f046403ae88d2eea400281da0ed6ebfa76c949016fa672d", "--any-age",
            ], environment: ["PUSHER_KEY": "k", "PUSHER_SECRET": "mysecret"])
        #expect(await nonsense.status() == 65)
        for command in [changed, otherKey, old, byDefault, nonsense] { #expect(command.output == []) }
    }

    @Test func encryptAndDecryptAreInverse() async throws {
        let text = "{\"snow\":\"☃\"}"
        let encrypted = try run("encrypt", "private-encrypted-room", "-", input: text)
        #expect(await encrypted.status() == 0)
        let data = try #require(encrypted.output.first)
        let decrypted = try run("decrypt", "private-encrypted-room", data)
        #expect(await decrypted.status() == 0)
        #expect(decrypted.output == [text])
        let shared = try CommandRun(
            ["decrypt", "private-encrypted-room", "-"],
            environment: ["PUSHER_SHARED_SECRET": "jLl7T7Vic8zzeBQOhI8a5zJ4iMwqc2omg0xT37NC5hs="], input: data)
        #expect(await shared.status() == 0)
        #expect(shared.output == [text])
        let otherChannel = try run("decrypt", "private-encrypted-other", data)
        #expect(await otherChannel.status() == 65)
        #expect(otherChannel.errors == ["error: the data was encrypted with another key, or was changed"])
    }

    @Test(
        arguments: [
            (["decrypt", "private-encrypted-x", "nonsense"], 65),
            (["encrypt", "private-encrypted-x", "y", "--shared-secret", "AAAA"], 64),
            (["encrypt", "private-encrypted-x", "y", "--encryption-master-key", "AAAA"], 64),
        ] as [([String], Int32)])
    func whatCannotBeEncryptedIsRefused(arguments: [String], status: Int32) async throws {
        let command = try CommandRun(arguments, environment: ["PUSHER_ENCRYPTION_MASTER_KEY": Self.masterKey])
        #expect(await command.status() == status)
        #expect(command.output == [])
        #expect(!command.errors.joined().contains("AAAA"))
    }

    @Test func aSecretAsAnArgumentIsWarnedOf() async throws {
        for (option, value) in [
            ("--shared-secret", "jLl7T7Vic8zzeBQOhI8a5zJ4iMwqc2omg0xT37NC5hs="),
            ("--encryption-master-key", Self.masterKey),
        ] {
            let command = try CommandRun(["encrypt", "private-encrypted-x", "y", option, value])
            #expect(await command.status() == 0)
            #expect(command.errors.count == 1)
            #expect(command.errors.first?.contains("the process list shows \(option)") == true)
        }
    }

    @Test(arguments: ["serve", "auth-server"])
    func aServerWarnsOfSecretsInArgumentsAndOfOtherMachines(name: String) async throws {
        let secrets = ["--secret", "s3cret", "--encryption-master-key", Self.masterKey]
        let command = try CommandRun([name, "--port", "0", "--key", "k", "--host", "0.0.0.0"] + secrets)
        #expect(await command.waitFor { $0.contains { $0.hasPrefix("listening on 0.0.0.0:") } })
        command.interrupt()
        #expect(await command.status() == 0)
        for expected in ["shows --secret to", "shows --encryption-master-key to", "for development"] {
            #expect(command.errors.count { $0.contains(expected) } == 1)
        }
        #expect(!command.errors.joined().contains("s3cret"))

        let quiet = try CommandRun([name, "--port", "0", "--key", "k"], environment: ["PUSHER_SECRET": "s3cret"])
        #expect(await quiet.waitFor { $0.contains { $0.hasPrefix("listening on 127.0.0.1:") } })
        quiet.interrupt()
        #expect(await quiet.status() == 0)
        #expect(quiet.errors == [])
    }

    @Test(arguments: ["serve", "auth-server"])
    func helpSaysThatAServerIsForDevelopment(name: String) async throws {
        let help = try CommandRun([name, "--help"])
        #expect(await help.status() == 0)
        #expect(help.output.joined(separator: " ").contains("not for production"))
    }

    @Test(arguments: [
        ["auth", "private-x"], ["auth", "private-x", "1.2"], ["auth", "--user", "a", "b", "1.2"],
        ["auth", "x", "1.2", "--user-info", "{}"], ["webhook", "verify"], ["encrypt", "private-encrypted-x", "y"],
        ["channel", "x", "--info", "nonsense"], ["trigger", "--user", "a", "e"],
        ["trigger", "--user", "a", "e", "x", "--socket-id", "1.2"], ["trigger", "--batch", "-", "--info", "cache"],
    ])
    func wrongUseIsStatus64(arguments: [String]) async throws {
        let command = try CommandRun(arguments)
        #expect(await command.status() == 64)
        #expect(command.output == [])
    }

    @Test(arguments: [
        ["demo"], ["trigger"], ["channels"], ["channel"], ["users"], ["terminate"], ["auth"], ["webhook"],
        ["webhook", "verify"], ["encrypt"], ["decrypt"], ["serve"], ["auth-server"], ["subscribe"], ["listen"],
        ["client-event"], ["doctor"], ["bench"], ["matrix"], ["matrix", "login"], ["matrix", "logout"],
        ["matrix", "rooms"], ["matrix", "listen"], ["matrix", "send"], ["matrix", "messages"], ["matrix", "create"],
        ["matrix", "join"], ["matrix", "leave"], ["matrix", "invite"], ["matrix", "react"], ["matrix", "upload"],
        ["matrix", "download"], ["matrix", "push-gateway"], ["pydio"], ["pydio", "login"], ["pydio", "logout"],
        ["pydio", "workspaces"], ["pydio", "ls"], ["pydio", "get"], ["pydio", "put"], ["pydio", "mkdir"],
        ["pydio", "mv"],
        ["pydio", "cp"], ["pydio", "rm"], ["pydio", "watch"], ["pydio", "search"], ["pydio", "stat"],
        ["pydio", "quota"], ["pydio", "compress"], ["pydio", "extract"], ["pydio", "meta"], ["pydio", "comments"],
        ["pydio", "lock"], ["pydio", "unlock"], ["pydio", "notify"], ["pydio", "feed"], ["pydio", "chmod"],
        ["pydio", "purge"], ["pydio", "sync"],
    ])
    func helpHasAnExample(command: [String]) async throws {
        let help = try CommandRun(command + ["--help"])
        #expect(await help.status() == 0)
        #expect(help.output.contains { $0.hasPrefix("  pusher-cli \(command.joined(separator: " "))") })
        #expect(help.output.allSatisfy { $0.count <= 80 || $0.contains("USAGE") || $0.hasPrefix("       ") })
    }
}
