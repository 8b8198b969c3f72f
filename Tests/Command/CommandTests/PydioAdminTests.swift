import Foundation
import PydioTestSupport
import TestSupport
import Testing

/// `pydio admin …`.
@Suite(.overSockets)
struct PydioAdminTests {
    private static func scene(
        _ mode: FakePydioMode = .v5_2, isAdministrator: Bool = true
    ) async throws -> PydioScene {
        try await PydioScene(
            FakePydioServer.Configuration(
                mode: mode,
                users: [
                    FakePydioUser(id: "ada", password: PydioScene.password, isAdministrator: isAdministrator),
                    FakePydioUser(id: "bob", password: "pässwörd", rights: ["0": .read]),
                ]))
    }

    private static func user(_ scene: PydioScene, _ id: String) -> FakePydioUser? {
        scene.server.configuration.users.first { $0.id == id }
    }

    private static let commands: [(arguments: [String], input: String)] = [
        (["users"], ""), (["add-user", "carol", "--password-stdin"], "a long secret"),
        (["change-user", "bob", "--password-stdin"], "a long secret"), (["change-user", "bob", "--admin"], ""),
        (["change-user", "bob", "--lock"], ""), (["change-user", "bob", "--add-role", "SALES"], ""),
        (["remove-user", "bob", "--force"], ""), (["grant", "bob", "team", "read"], ""), (["workspaces"], ""),
        (["add-workspace", "Sales", "--path", "/srv/sales"], ""), (["remove-workspace", "team", "--force"], ""),
    ]

    @Test(arguments: [
        ["users", "x"], ["add-user"], ["add-user", ""], ["change-user", "bob"], ["change-user", "--lock"],
        ["change-user", "bob", "--lock", "--unlock"], ["change-user", "bob", "--password", "--password-stdin"],
        ["change-user", "bob", "--add-role", "A", "--remove-role", "A"], ["change-user", "bob", "--add-role", ""],
        ["remove-user"], ["remove-user", "bob"], ["grant", "bob", "team"], ["grant", "bob", "team", "all"],
        ["workspaces", "x"], ["add-workspace", "Sales"], ["add-workspace", " ", "--path", "/p"],
        ["add-workspace", "Sales", "--path", ""], ["add-workspace", "Sales", "--path", "/p", "--rights", "x"],
        ["remove-workspace", "team"], ["remove-workspace"],
    ])
    func wrongUseIsStatus64_beforeAnythingIsSent(arguments: [String]) async throws {
        let scene = try await Self.scene()
        let run = try scene.run(["pydio", "admin"] + arguments)
        #expect(await run.status() == 64)
        #expect(run.output == [] && scene.server.requests.isEmpty)
    }

    @Test(arguments: FakePydioMode.allCases)
    func whoIsNoAdministratorIsStatus77(mode: FakePydioMode) async throws {
        let scene = try await Self.scene(mode, isAdministrator: false)
        for (arguments, input) in Self.commands {
            let run = try scene.run(["pydio", "admin"] + arguments, input: input)
            #expect(await run.status() == 77, "\(arguments)")
            #expect(run.output == [] && run.errors.count == 1)
            #expect(run.words.contains("the user is not an administrator of 127.0.0.1; nothing was changed"))
            #expect(!run.words.contains("a long secret"))
        }
        #expect(scene.server.count("edit") == 0 && scene.server.count("delete") == 0)
    }

    @Test(arguments: FakePydioMode.allCases)
    func whatTheVersionCannotDoIsStatus69(mode: FakePydioMode) async throws {
        let scene = try await Self.scene(mode)
        scene.server.setGate { request in
            ["edit", "delete", "user_update_right"].contains(request.action) ? .empty : nil
        }
        for (arguments, input) in Self.commands where arguments.count > 1 {
            let run = try scene.run(["pydio", "admin"] + arguments, input: input)
            #expect(await run.status() == 69, "\(arguments)")
            #expect(run.output == [] && run.errors.count == 1)
            #expect(run.words.contains("the server cannot ") && run.words.contains("nothing was changed"))
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func usersAreAddedListedChangedAndRemoved(mode: FakePydioMode) async throws {
        let scene = try await Self.scene(mode)
        let added = try await scene.pydio(
            "admin", "add-user", "carol", "--password-stdin", "--json", input: "a long secret\n")
        #expect(added.status == 0, "\(added.run.errors)")
        #expect(added.run.objects.map { $0["type"] as? String } == ["user_added"])
        let (status, listed) = try await scene.pydio("admin", "users")
        #expect(status == 0 && listed.output == ["ada  administrator", "bob", "carol"])
        let json = try await scene.pydio("admin", "users", "--json")
        #expect(json.run.objects.map { $0["user_id"] as? String } == ["ada", "bob", "carol"])
        #expect(json.run.objects.first?["administrator"] as? Bool == true)

        let changed = try await scene.pydio(
            "admin", "change-user", "carol", "--password-stdin", "--add-role", "SALES", "--admin", "--lock",
            input: "another secret")
        #expect(changed.status == 0 && changed.run.output == [] && changed.run.errors == [])
        let carol = try #require(Self.user(scene, "carol"))
        #expect(carol.isAdministrator && carol.roles == ["SALES"] && carol.condition == .lockedOut)
        #expect(
            try await scene.pydio("admin", "change-user", "carol", "--unlock", "--no-admin", "--remove-role", "SALES")
                .status == 0)
        let login = try scene.run(
            ["pydio", "login", scene.server.address, "--user", "carol", "--password-stdin"], input: "another secret")
        // Servers let no user in without a right in some workspace.
        #expect(await login.status() == 77)
        let granted = try await scene.pydio("admin", "grant", "carol", "Team", "read-write", "--json")
        #expect(granted.status == 0, "\(granted.run.errors)")
        #expect(granted.run.objects.first?["rights"] as? String == "read-write")
        #expect(Self.user(scene, "carol")?.rights?[FakePydioWorkspace.teamID] == .all)
        #expect(try await scene.pydio("admin", "remove-user", "carol", "--force").status == 0)
        #expect(Self.user(scene, "carol") == nil)
        for run in [added.run, listed, json.run, changed.run] {
            #expect(!run.words.contains("secret"))
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func workspacesAreAddedListedAndRemoved(mode: FakePydioMode) async throws {
        let scene = try await Self.scene(mode)
        let added = try await scene.pydio(
            "admin", "add-workspace", "Our sales", "--path", "/srv/sales", "--slug", "sales", "--description", "Sold")
        #expect(added.status == 0)
        let id = try #require(added.run.output.first)
        #expect(added.run.output.count == 1 && scene.server.configuration.workspaces.last?.id == id)
        let listed = try await scene.pydio("admin", "workspaces", "--json")
        #expect(listed.run.objects.count == 5 && listed.run.objects.last?["slug"] as? String == "sales")
        #expect(try await scene.pydio("mkdir", "sales:/2026").status == 0)
        let again = try await scene.pydio("admin", "add-workspace", "Our sales", "--path", "/srv/sales")
        #expect(again.status == 65)
        #expect(again.run.errors == ["error: the server says: A repository with the same name already exists"])
        #expect(try await scene.pydio("admin", "remove-workspace", "Our Sales", "--force").status == 0)
        #expect(scene.server.configuration.workspaces.count == 4)
        let none = try await scene.pydio("admin", "remove-workspace", "sales", "--force")
        #expect(none.status == 65)
    }

    @Test(arguments: ["nobody", "b\"ob", "BOB", "ada"])
    func nobodyElseIsRemoved(name: String) async throws {
        for mode in FakePydioMode.allCases {
            let scene = try await Self.scene(mode)
            let (status, run) = try await scene.pydio("admin", "remove-user", name, "--force")
            #expect(status == 65)
            #expect(run.words.contains("nothing was changed"))
            #expect(scene.server.configuration.users.count == 2 && scene.server.count("delete") == 0)
        }
    }

    @Test func removingAsksAtATerminal() async throws {
        let scene = try await Self.scene()
        for (question, arguments) in [
            ("Delete the user bob for good?", ["remove-user", "bob"]),
            ("Delete the workspace Team (", ["remove-workspace", "team"]),
        ] {
            for answer in ["\n", "\u{3}"] {
                let run = try CommandRun(
                    ["pydio", "admin"] + arguments, environment: scene.environment, isAtTerminal: true)
                #expect(await run.waitFor { $0.joined().contains(question) })
                try run.type(answer)
                #expect(await run.status() == (answer == "\u{3}" ? 130 : 0))
            }
        }
        #expect(scene.server.count("delete") == 0)
    }

    @Test func whatFailsIsSaid_andTheRestIsChanged() async throws {
        let scene = try await Self.scene()
        let (status, run) = try await scene.pydio(
            "admin", "change-user", "bob", "--add-role", "none", "--add-role", "SALES", "--json")
        #expect(status == 65)
        #expect(run.output == [] && run.errors == ["error: role none: the server says: Wrong Arguments"])
        #expect(Self.user(scene, "bob")?.roles == ["SALES"])
    }

    @Test func hostileNamesAreHarmless() async throws {
        let scene = try await Self.scene()
        scene.server.configure {
            $0.users.append(FakePydioUser(id: "a\u{202E}b", password: "x", group: "/g\u{1B}[2J"))
            $0.workspaces.append(FakePydioWorkspace(id: "w\u{202E}", slug: "s\u{7}", label: "l\u{1B}[2J"))
        }
        for list in ["users", "workspaces"] {
            for options in [[], ["--json"]] {
                let run = try scene.run(["pydio", "admin", list] + options)
                #expect(await run.status() == 0)
                #expect(!["\u{1B}", "\u{7}"].contains { run.words.contains($0) })
                #expect(!run.words.contains("\u{202E}") || options.isEmpty)
            }
        }
    }
}
