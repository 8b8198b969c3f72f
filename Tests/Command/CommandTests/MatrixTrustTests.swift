import EncryptionTestSupport
import Foundation
import JSONBytes
import MatrixEncryption
import MatrixTestSupport
import TestSupport
import Testing

/// How commands that are not about encryption use the keys of a login.
@Suite(.overSockets)
struct MatrixTrustTests {
    private func scene() async throws -> EncryptedCommandScene {
        let scene = try await EncryptedCommandScene()
        let devices = ["DEVICE", "PHONE", "OLD"].map { #"{"device_id":"\#($0)"}"# }.joined(separator: ",")
        scene.scene.server.on("GET", "v3/devices", .json(#"{"devices":[\#(devices)]}"#))
        try scene.addDevice("@a:s", "PHONE")
        return scene
    }

    private func trust(_ run: CommandRun) -> [String: String?] {
        Dictionary(uniqueKeysWithValues: run.objects.map { ($0["device_id"] as? String ?? "", $0["trust"] as? String) })
    }

    @Test func devicesSayWhetherTheyAreVerified() async throws {
        let scene = try await scene()
        #expect(try await scene.scene.matrix("recovery", "create").status == 0)
        let devices = try await scene.scene.matrix("devices", "--json")
        #expect(devices.status == 0)
        #expect(trust(devices.run) == ["DEVICE": "verified", "PHONE": "not verified", "OLD": "no keys"])
        let lines = try await scene.scene.matrix("devices").run.output
        #expect(lines.count == 3 && lines[0].contains("verified") && lines[0].hasSuffix("this device"), "\(lines)")
    }

    @Test func devicesAndRecoverySayTheSameOfThisDevice() async throws {
        let scene = try await scene()
        for isSet in [false, true] {
            if isSet { #expect(try await scene.scene.matrix("recovery", "create").status == 0) }
            let status = try await scene.scene.matrix("recovery", "status", "--json")
            #expect(status.run.objects.first?["device"] as? String == (isSet ? "verified" : "no cross-signing keys"))
            let devices = try await scene.scene.matrix("devices", "--json")
            #expect(trust(devices.run)["DEVICE"] == (isSet ? "verified" : "not verified"), "\(devices.run.errors)")
        }
    }

    /// The process with the keys provides the answer.
    @Test func devicesSayItBesideAListen() async throws {
        let scene = try await scene()
        #expect(try await scene.scene.matrix("recovery", "create").status == 0)
        let listen = try scene.scene.run(["matrix", "listen", "--json"])
        #expect(await listen.waitFor { $0.contains { $0.contains(#""to":"running""#) } })
        let devices = try await scene.scene.matrix("devices", "--json")
        #expect(devices.status == 0 && devices.run.errors.isEmpty)
        #expect(trust(devices.run)["DEVICE"] == "verified")
    }

    /// It does not sync for this.
    @Test func withoutKeysDevicesSayNothingOfIt() async throws {
        let scene = try await scene()
        let devices = try await scene.scene.matrix("devices", "--json")
        #expect(devices.status == 0 && devices.run.errors.isEmpty)
        #expect(trust(devices.run) == ["DEVICE": nil, "PHONE": nil, "OLD": nil])
        #expect(scene.scene.syncTokens.isEmpty)
    }

    /// The reader has requested the device's keys before it was signed.
    @Test(arguments: ["messages", "listen"])
    func aDeviceThatWasSignedSinceIsNoAlarm(command: String) async throws {
        let scene = try await scene()
        try scene.addDevice("@b:s", "NEW")
        let home = scene.home
        scene.scene.server.on("GET", "v3/rooms/*/joined_members", .json(#"{"joined":{}}"#))
        scene.scene.server.on("GET", "v3/rooms/*/messages") { _ in
            let events = (try? home.with { $0.events.map(\.json) }) ?? []
            let messages = events.filter { $0["type"]?.string == "m.room.encrypted" }.reversed().map(\.compactText)
            return .json(#"{"start":"x","chunk":[\#(messages.joined(separator: ","))]}"#)
        }
        #expect(try await scene.scene.matrix("send", "!r:s", "hi").status == 0)
        try scene.with("NEW") { try $0.encryptRoom("!r:s") }
        func sayAndSign() throws {
            // The answer with its keys is delayed.
            try home.with { $0.delay = .milliseconds(500) }
            try scene.with("BOB") { bob in try bob.turn { try $0.signDevice("NEW", &$1) } }
            try home.with { world in
                let device = try #require(world.others.last)
                world.tell(try world.say("from the new one", by: device))
            }
        }
        let run: CommandRun
        if command == "listen" {
            run = try scene.scene.run(["matrix", "listen", "--json", "--no-catch-up", "--count", "1"])
            #expect(await run.waitFor { $0.contains { $0.contains(#""to":"running""#) } })
            try sayAndSign()
        } else {
            try sayAndSign()
            run = try scene.scene.run(["matrix", "messages", "!r:s"])
        }
        #expect(await run.status() == 0)
        #expect(run.output.contains { $0.contains("from the new one") }, "\(run.output) \(run.errors)")
        #expect(!run.words.contains("has not signed") && !run.words.contains("unsigned_device"), "\(run.output)")
    }

    // MARK: History

    /// Returns what Eve reads of an event after she joined on our user's invitation; `nil` if she got no keys.
    private func eveReads(_ id: String, _ scene: EncryptedCommandScene) throws -> String? {
        try scene.home.with { world in
            let event = try #require(world.encrypted(id))
            try world.eve.sync()
            try world.eve.turn { try $0.noteJoined("!r:s", invitedBy: "@a:s", &$1) }
            guard let offer = try world.eve.turn({ try $0.offeredHistory(of: "!r:s", &$1) }), let url = offer.url,
                let bytes = world.media[url.replacing("mxc://s/", with: "")]
            else { return nil }
            var check = AttachmentCheck(of: offer)
            check.update(bytes)
            var decryptor = try check.finish()
            let bundle = SecretBytes(decryptor.decrypt(bytes))
            try world.eve.turn { _ = try $0.importHistory(bundle, of: "!r:s", &$1) }
            return try world.eve.text(event)
        }
    }

    private func said(_ scene: EncryptedCommandScene) async throws -> String {
        try scene.home.with { world in try world.eve.makeIdentity() }
        #expect(try await scene.scene.matrix("recovery", "create").status == 0)
        let sent = try await scene.scene.matrix("send", "!r:s", "early")
        #expect(sent.status == 0, "\(sent.run.errors)")
        return try #require(sent.run.output.last)
    }

    @Test func whoIsInvitedReadsWhatWasSaidBefore() async throws {
        let scene = try await scene()
        let id = try await said(scene)
        let invite = try await scene.scene.matrix("invite", "!r:s", "@e:s")
        #expect(invite.status == 0 && invite.run.errors.isEmpty, "\(invite.run.errors)")
        #expect(scene.scene.server.requests("POST", "v3/rooms/*/invite").count == 1)
        #expect(try eveReads(id, scene) == "early")
    }

    /// The command does not end earlier, because nothing would continue the work.
    @Test func keysThatTakeLongAreWaitedFor() async throws {
        let scene = try await scene()
        let id = try await said(scene)
        try scene.home.with { $0.delay = .seconds(3) }
        let invite = try await scene.scene.matrix("invite", "!r:s", "@e:s")
        #expect(invite.status == 0 && invite.run.errors.isEmpty, "\(invite.run.errors)")
        #expect(try eveReads(id, scene) == "early")
    }

    @Test func aListenGivesTheKeysToWhoIsInvited() async throws {
        let scene = try await scene()
        let id = try await said(scene)
        let listen = try scene.scene.run(["matrix", "listen", "--json"])
        #expect(await listen.waitFor { $0.contains { $0.contains(#""to":"running""#) } })
        let invite = try await scene.scene.matrix("invite", "!r:s", "@e:s")
        #expect(invite.status == 0 && invite.run.errors.isEmpty, "\(invite.run.errors)")
        #expect(await eventually { (try? eveReads(id, scene)) == "early" })
    }

    @Test func whoCannotBeGivenTheKeysIsInvited_andTheUserIsTold() async throws {
        let scene = try await scene()
        _ = try await said(scene)
        scene.scene.server.on("POST", "/_matrix/media/v3/upload", .error(413, "M_TOO_LARGE"))
        let invite = try await scene.scene.matrix("invite", "!r:s", "@e:s")
        #expect(invite.status == 0)
        #expect(
            invite.run.errors.first?.hasPrefix("warning: @e:s is invited without the keys of earlier messages: ")
                == true,
            "\(invite.run.errors)")
        #expect(scene.scene.server.requests("POST", "v3/rooms/*/invite").count == 1)
    }

    /// Beside a `listen` or alone, it sends the request once.
    @Test(arguments: [false, true]) func whoMayNotBeInvitedGetsNothing(isBesideListen: Bool) async throws {
        let scene = try await scene()
        let id = try await said(scene)
        let listen = isBesideListen ? try scene.scene.run(["matrix", "listen", "--json"]) : nil
        if let listen { #expect(await listen.waitFor { $0.contains { $0.contains(#""to":"running""#) } }) }
        scene.scene.server.on("POST", "v3/rooms/*/invite", .error(403, "M_FORBIDDEN"))
        let invite = try await scene.scene.matrix("invite", "!r:s", "@e:s")
        #expect(invite.status == 77)
        #expect(!invite.run.errors.contains { $0.contains("is invited") }, "\(invite.run.errors)")
        #expect(scene.scene.server.requests("POST", "v3/rooms/*/invite").count == 1)
        #expect(try eveReads(id, scene) == nil)
    }

    /// It has the keys, and does not answer.
    @Test func whoIsInvitedBesideAStoppedListenIsInvitedWithoutKeys() async throws {
        let scene = try await scene()
        let id = try await said(scene)
        let listen = try scene.scene.run(["matrix", "listen", "--json"])
        #expect(await listen.waitFor { $0.contains { $0.contains(#""to":"running""#) } })
        listen.signal(SIGSTOP)
        defer { listen.signal(SIGKILL) }
        let invite = try await scene.scene.matrix("invite", "!r:s", "@e:s")
        #expect(invite.status == 0)
        #expect(invite.run.errors.first?.contains("without the keys of earlier messages") == true)
        #expect(scene.scene.server.requests("POST", "v3/rooms/*/invite").count == 1)
        #expect(try eveReads(id, scene) == nil)
    }
}
