import Foundation
import JSONBytes
import MatrixTestSupport
import TestSupport
import Testing

/// The `matrix` commands for an account's devices and push rules.
@Suite(.overSockets)
struct MatrixAccountCommandTests {
    private static let password = "correct horse battery staple"

    @Test(arguments: [
        ["devices"], ["devices", "--rename", "A", "x"], ["devices", "--delete", "A"], ["push-rules"],
        ["push-rules", "--enable", "x"], ["push-rules", "--mute", "!r:hs"], ["push-rules", "--unmute", "!r:hs"],
    ])
    func aRefusalIsStatus77_andItsWordsAreEscaped(arguments: [String]) async throws {
        try await MatrixScene.expectRefusal(of: arguments)
    }

    @Test(arguments: [
        ["devices", "x"], ["devices", "--rename"], ["devices", "--rename", "A"],
        ["devices", "--rename", "A", "b", "c"],
        ["devices", "--rename", "A", ""], ["devices", "--delete"], ["devices", "--delete", ""],
        ["devices", "--rename", "A", "b", "--delete", "A"], ["devices", "--json", "--delete", "A"],
        ["devices", "--password-stdin"], ["push-rules", "--enable"], ["push-rules", "--enable", ""],
        ["push-rules", "--enable", "a", "--disable", "b"], ["push-rules", "--mute", "!r:hs", "--unmute", "!r:hs"],
        ["push-rules", "--mute", "!r:hs", "--json"], ["push-rules", "--kind", "room"],
        ["push-rules", "--enable", "a", "--kind", "odd"], ["push-rules", "--mute", "!r:hs", "--kind", "room"],
    ])
    func wrongUseIsStatus64(arguments: [String]) async throws {
        try await MatrixScene.expectWrongUse(arguments)
    }

    // MARK: Devices

    private func sceneWithDevices() async throws -> MatrixScene {
        let scene = try await MatrixScene()
        let hostile = HostileText.json(HostileText.short)
        scene.server.on(
            "GET", "v3/devices",
            .json(
                #"""
                {"devices":[{"device_id":"OLD"},
                {"device_id":"EVIL","display_name":\#(hostile),"last_seen_ip":\#(hostile),"last_seen_ts":1600000000000},
                {"device_id":"DEVICE","display_name":"pusher-cli","last_seen_ts":1500000000000},
                {"device_id":"PHONE","display_name":"Phone","last_seen_ip":"192.0.2.1","last_seen_ts":1700000000000}]}
                """#))
        scene.server.on("POST", "v3/delete_devices") { request in
            guard let auth = request.json?["auth"] else {
                return .json(
                    #"{"session":"s","flows":[{"stages":["m.login.sso"]},{"stages":["m.login.password"]}]}"#, 401)
            }
            guard auth["password"]?.string == Self.password, auth["session"]?.string == "s" else {
                return .json(
                    #"{"session":"s","flows":[{"stages":["m.login.password"]}],"errcode":"M_FORBIDDEN","error":"no"}"#,
                    401)
            }
            return .ok
        }
        return scene
    }

    @Test func devicesAreListed_thisOneFirst() async throws {
        let scene = try await sceneWithDevices()
        let (status, run) = try await scene.matrix("devices")
        #expect(status == 0)
        #expect(run.output.count == 4)
        #expect(run.output.first?.hasPrefix("pusher-cli  DEVICE  2017-07-1") == true)
        #expect(run.output.first?.hasSuffix("  this device") == true)
        #expect(run.output[1].hasPrefix("Phone  PHONE  2023-11-1") && run.output[1].hasSuffix("  192.0.2.1"))
        #expect(run.output.last == "OLD")
        for line in run.output { #expect(HostileText.flaws(in: line, isPiped: true) == []) }
        let json = try await scene.matrix("devices", "--json").run
        #expect(json.objects.map { $0["device_id"] as? String } == ["DEVICE", "PHONE", "EVIL", "OLD"])
        #expect(json.objects.map { $0["current"] as? Bool } == [true, false, false, false])
        #expect(json.objects.allSatisfy { $0["type"] as? String == "device" && $0["time"] != nil })
        #expect(json.objects[1]["last_seen"] as? String == "2023-11-14T22:13:20.000Z")
        #expect(json.objects[1]["address"] as? String == "192.0.2.1")
        #expect(json.objects[2]["name"] as? String == HostileText.short)
        for line in json.output { #expect(HostileText.flaws(in: line) == []) }
    }

    @Test func aDeviceIsRenamed() async throws {
        let scene = try await sceneWithDevices()
        scene.server.on("PUT", "v3/devices/*", .ok)
        let (status, run) = try await scene.matrix("devices", "--rename", "PHONE", "my old phone")
        #expect(status == 0 && run.words.isEmpty)
        let request = try #require(scene.server.requests("PUT", "v3/devices/PHONE").first)
        #expect(request.json?["display_name"]?.string == "my old phone")
        scene.server.on("PUT", "v3/devices/*", .error(404, "M_NOT_FOUND"))
        #expect(try await scene.matrix("devices", "--rename", "NONE", "x").status == 65)
    }

    @Test func devicesAreDeletedWithThePassword() async throws {
        let scene = try await sceneWithDevices()
        let (status, run) = try await scene.matrix(
            "devices", "--delete", "PHONE", "OLD", "--password-stdin", input: Self.password + "\n")
        #expect(status == 0 && run.words.isEmpty)
        let request = try #require(scene.server.requests("POST", "v3/delete_devices").last?.json)
        #expect(request["devices"]?.array?.compactMap(\.string) == ["PHONE", "OLD"])
        #expect(request["auth"]?["type"]?.string == "m.login.password")
        #expect(request["auth"]?["identifier"]?["user"]?.string == MatrixScene.user)
        let wrong = try await scene.matrix("devices", "--delete", "PHONE", "--password-stdin", input: "wrong\n")
        #expect(wrong.status == 77)
        #expect(wrong.run.errors == ["error: no (M_FORBIDDEN)"])
        #expect(try await scene.matrix("devices", "--delete", "PHONE", "--password-stdin", input: "\n").status == 65)
    }

    @Test func atATerminalThePasswordIsAskedFor_andCtrlCLeavesTheDevices() async throws {
        let scene = try await sceneWithDevices()
        let (arguments, environment) = (
            ["matrix", "devices", "--delete", "PHONE"], ["XDG_CONFIG_HOME": scene.home.path]
        )
        let abandoned = try CommandRun(arguments, environment: environment, isAtTerminal: true)
        #expect(await abandoned.waitFor { $0.contains { $0.hasPrefix("Password of @alice:hs: ") } })
        try abandoned.type("corr\u{3}")
        #expect(await abandoned.status() == 130)
        #expect(scene.server.requests("POST", "v3/delete_devices").count == 1)
        let run = try CommandRun(arguments, environment: environment, isAtTerminal: true)
        #expect(await run.waitFor { $0.contains { $0.hasPrefix("Password of @alice:hs: ") } })
        try run.type(Self.password + "\n")
        #expect(await run.status() == 0)
        #expect(!run.words.contains("horse"))
        #expect(scene.server.requests("POST", "v3/delete_devices").count == 3)
    }

    @Test func nothingIsDeletedIfADeviceIsUnknownOrThisOne() async throws {
        let scene = try await sceneWithDevices()
        let unknown = try await scene.matrix("devices", "--delete", "PHONE", "NONE", "--password-stdin", input: "x")
        #expect(unknown.status == 65 && unknown.run.errors.first?.contains("you have no device NONE") == true)
        let current = try await scene.matrix("devices", "--delete", "DEVICE", "--password-stdin", input: "x")
        #expect(current.status == 65 && current.run.errors.first?.contains("use pusher-cli matrix logout") == true)
        #expect(scene.server.requests("POST", "v3/delete_devices").isEmpty)
    }

    @Test func aServerThatWantsMoreThanAPasswordIsStatus77() async throws {
        let scene = try await sceneWithDevices()
        scene.server.on("POST", "v3/delete_devices", .json(#"{"flows":[{"stages":["m.login.sso"]}]}"#, 401))
        let (status, run) = try await scene.matrix("devices", "--delete", "PHONE", "--password-stdin", input: "x")
        #expect(status == 77)
        #expect(run.errors.first?.contains("asks for m.login.sso") == true)
        // Nor does it keep asking forever.
        scene.server.on("POST", "v3/delete_devices", .json(#"{"flows":[{"stages":["m.login.password"]}]}"#, 401))
        #expect(try await scene.matrix("devices", "--delete", "PHONE", "--password-stdin", input: "x").status == 69)
        #expect(scene.server.requests("POST", "v3/delete_devices").count < 30)
    }

    // MARK: Push rules

    private func sceneWithRules() async throws -> MatrixScene {
        let scene = try await MatrixScene()
        let hostile = HostileText.json(HostileText.short)
        scene.server.on(
            "GET", "v3/pushrules",
            .json(
                #"""
                {"global":{"underride":[{"rule_id":".m.rule.message","default":true,"enabled":true,"actions":["notify",
                {"set_tweak":"sound","value":"ring"},{"set_tweak":"highlight"}],
                "conditions":[{"kind":"event_match","key":"type","pattern":"m.room.message"}]}],
                "override":[{"rule_id":".m.rule.master","default":true,"enabled":false,"actions":[],"conditions":[]},
                {"rule_id":"!r:hs","default":false,"enabled":true,"actions":["dont_notify"]}],
                "room":[{"rule_id":"!r:hs","default":false,"enabled":true,"actions":["notify"]}],
                "content":[{"rule_id":\#(hostile),"enabled":true,"actions":["notify",
                {"set_tweak":"sound","value":\#(hostile)}],"pattern":\#(hostile)}],"postcontent":[{"rule_id":"x"}]}}
                """#))
        for method in ["PUT", "DELETE"] { scene.server.on(method, "v3/pushrules/global/**", .ok) }
        return scene
    }

    @Test func pushRulesAreListedInTheOrderInWhichTheyAreAsked() async throws {
        let scene = try await sceneWithRules()
        let (status, run) = try await scene.matrix("push-rules")
        #expect(status == 0)
        #expect(run.output.count == 5)
        #expect(run.output.prefix(2) == ["override  .m.rule.master  off  silent", "override  !r:hs  on  silent"])
        #expect(run.output.last == "underride  .m.rule.message  on  notify, sound ring, highlight")
        for line in run.output { #expect(HostileText.flaws(in: line, isPiped: true) == []) }
        let json = try await scene.matrix("push-rules", "--json").run
        #expect(json.objects.map { $0["kind"] as? String } == ["override", "override", "content", "room", "underride"])
        #expect(json.objects.map { $0["enabled"] as? Bool } == [false, true, true, true, true])
        #expect(json.objects.allSatisfy { $0["type"] as? String == "push_rule" && $0["time"] != nil })
        #expect((json.objects.last?["actions"] as? [Any])?.count == 3)
        #expect((json.objects.last?["conditions"] as? [Any])?.count == 1)
        for line in json.output { #expect(HostileText.flaws(in: line) == []) }
    }

    @Test func aRuleIsSwitchedOnAndOff() async throws {
        let scene = try await sceneWithRules()
        #expect(try await scene.matrix("push-rules", "--enable", ".m.rule.master").status == 0)
        #expect(try await scene.matrix("push-rules", "--disable", "!r:hs", "--kind", "room").status == 0)
        let requests = scene.server.requests("PUT", "v3/pushrules/global/*/*/enabled")
        #expect(requests.map { $0.path[5...6].joined(separator: " ") } == ["override .m.rule.master", "room !r:hs"])
        #expect(requests.map { $0.json?["enabled"]?.bool } == [true, false])
        let twice = try await scene.matrix("push-rules", "--disable", "!r:hs")
        #expect(twice.status == 65)
        #expect(twice.run.errors == ["error: 2 rules are called !r:hs; give a --kind: override, room"])
        let unknown = try await scene.matrix("push-rules", "--enable", "none")
        #expect(unknown.status == 65 && unknown.run.errors.first?.contains("there is no rule none") == true)
        #expect(scene.server.requests("PUT", "v3/pushrules/global/**").count == 2)
    }

    @Test func aRoomIsMuted_andHeardAgain() async throws {
        let scene = try await sceneWithRules()
        scene.syncsBegin(MatrixScene.room("!x:hs", name: "Noise"))
        #expect(try await scene.matrix("push-rules", "--mute", "Noise").status == 0)
        let rule = try #require(scene.server.requests("PUT", "v3/pushrules/global/override/*").first?.json)
        #expect(rule["actions"]?.array?.count == 0)
        #expect(rule["conditions"]?.array?.first?["key"]?.string == "room_id")
        #expect(rule["conditions"]?.array?.first?["pattern"]?.string == "!x:hs")
        let enabled = scene.server.requests("PUT", "v3/pushrules/global/override/*/enabled")
        #expect(enabled.map { $0.json?["enabled"]?.bool } == [true])
        #expect(try await scene.matrix("push-rules", "--unmute", "Noise").status == 0)
        #expect(scene.server.requests("DELETE", "v3/pushrules/global/override/*").count == 1)
        scene.server.on("DELETE", "v3/pushrules/global/**", .error(404, "M_NOT_FOUND"))
        #expect(try await scene.matrix("push-rules", "--unmute", "!x:hs").status == 0)  // not muted: nothing to do
    }
}

extension FakeAnswer {
    fileprivate static func json(_ text: String, _ status: Int) -> FakeAnswer { .json(text, status: status) }
}
