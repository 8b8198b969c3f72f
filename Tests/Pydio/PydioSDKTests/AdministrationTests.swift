import Basics
import Foundation
import PydioProtocol
import PydioSDK
import PydioTestSupport
import TestSupport
import Testing

/// Administrators' operations: users, rights and workspaces.
@Suite(.overSockets)
struct AdministrationTests {
    private static func users() -> [FakePydioUser] {
        [
            FakePydioUser(id: "ada", password: PydioScene.password, isAdministrator: true),
            FakePydioUser(id: "bob", password: "pässwörd", rights: ["0": .read]),
            FakePydioUser(id: "eve", password: "pässwörd", rights: [:], group: "/sales/north"),
            FakePydioUser(id: "guest7", password: "pässwörd", rights: [:], parent: "bob"),
        ]
    }

    private static func with(
        _ mode: FakePydioMode, user: String = "ada", password: String = PydioScene.password,
        options: (inout PydioClientOptions) -> Void = { _ in }, _ body: (PydioScene) async throws -> Void
    ) async throws {
        let configuration = FakePydioServer.Configuration(mode: mode, users: users())
        try await PydioScene.with(configuration, user: user, password: password, options: options, body)
    }

    private static func user(_ scene: PydioScene, _ id: String) -> FakePydioUser? {
        scene.server.configuration.users.first { $0.id == id }
    }

    private static func canLogIn(_ scene: PydioScene, as user: String, with password: String) async -> Bool {
        let params = ServersParamsManager()
        params.setUser(User(userid: user, password: password), forServer: scene.server.url)
        let client = PydioClient(server: scene.server.url, params: params, options: scene.client.options)
        return await failure { _ = try await client.listWorkspaces() } == nil
    }

    struct Change: Sendable {
        let name: String
        let run: @Sendable (PydioClient, String) async throws -> Void

        init(_ name: String, _ run: @escaping @Sendable (PydioClient, String) async throws -> Void) {
            (self.name, self.run) = (name, run)
        }
    }

    /// All operations that make a change.
    private static let changes = [
        Change("createUser") { try await $0.createUser(userId: $1 + "x", password: "a password") },
        Change("deleteUser") { try await $0.deleteUser(userId: $1) },
        Change("setPassword") { try await $0.setPassword("another one", ofUser: $1) },
        Change("setAdministrator") { try await $0.setAdministrator(true, user: $1) },
        Change("setLocked") { try await $0.setLocked(true, user: $1) },
        Change("setRole") { try await $0.setRole("SALES", true, user: $1) },
        Change("setRights") { try await $0.setRights([.read, .write], ofUser: $1, inWorkspace: "1") },
        Change("createWorkspace") { client, name in
            try await client.createWorkspace(CreateWorkspaceRequestParams(label: "New \(name)", path: "/p"))
        },
        Change("deleteWorkspace") { client, _ in try await client.deleteWorkspace(workspaceId: "1") },
    ]

    // MARK: Users

    @Test(arguments: FakePydioMode.allCases)
    func allUsersAreListed_thoseOfGroupsToo(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            scene.server.configure { $0.administrationPageSize = 1 }
            let users = try await scene.client.users()
            #expect(users.map(\.userId).sorted() == ["ada", "bob", "eve", "guest7"])
            #expect(users.filter(\.isAdministrator).map(\.userId) == ["ada"])
            #expect(users.filter(\.isGuest).map(\.userId) == ["guest7"])
            #expect(users.first { $0.userId == "eve" }?.groupPath == "/sales/north")
            #expect(users.first { $0.userId == "bob" }?.groupPath == "/")
        }
    }

    @Test func aListWithoutEndIsNotFollowed() async throws {
        try await Self.with(.v5_2, options: { $0.maximumPages = 20 }) { scene in
            for answer in [
                #"<tree><pagination total="999999"/></tree>"#,
                // A group that contains itself, and one outside.
                #"<tree><tree ajxp_mime="group" filename="/data/users"/><tree ajxp_mime="group" filename="/x"/></tree>"#,
            ] {
                scene.server.setGate { $0.action == "ls" ? .xml(answer) : nil }
                scene.server.forgetRequests()
                _ = await failure { _ = try await scene.client.users() }
                #expect(scene.server.count("ls") <= 20)
            }
            // Each contains another one.
            scene.server.setGate { request in
                guard request.action == "ls", let dir = request.parameter("dir") else { return nil }
                return .xml("<tree><tree ajxp_mime=\"group\" filename=\"\(dir)/a\"/></tree>")
            }
            let error = await failure { _ = try await scene.client.users() }
            #expect(error?.code == .tooLarge)
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func aUserIsCreated_andLogsIn(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            try await scene.client.createUser(userId: "carol", password: "a long secret")
            #expect(try await scene.client.users().contains { $0.userId == "carol" })
            try await scene.client.setRights(.read, ofUser: "carol", inWorkspace: "0")
            #expect(await Self.canLogIn(scene, as: "carol", with: "a long secret"))
            for id in ["carol", "a\"b", "", "ö"] {
                let error = await failure { try await scene.client.createUser(userId: id, password: "a password") }
                #expect(error?.code == .errorResponse || error?.code == .invalidArgument)
            }
            #expect(scene.server.configuration.users.count == 5)
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func passwordRoleAndLockAreChanged(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            try await scene.client.setPassword("another one", ofUser: "bob")
            #expect(await Self.canLogIn(scene, as: "bob", with: "another one"))
            try await scene.client.setLocked(true, user: "bob")
            #expect(await !Self.canLogIn(scene, as: "bob", with: "another one"))
            try await scene.client.setLocked(false, user: "bob")
            #expect(await Self.canLogIn(scene, as: "bob", with: "another one"))
            try await scene.client.setAdministrator(true, user: "bob")
            #expect(Self.user(scene, "bob")?.isAdministrator == true)
            try await scene.client.setAdministrator(false, user: "bob")
            #expect(Self.user(scene, "bob")?.isAdministrator == false)
            for role in ["SALES", "WEST"] { try await scene.client.setRole(role, true, user: "eve") }
            #expect(try await scene.client.users().first { $0.userId == "eve" }?.roles == ["SALES", "WEST"])
            try await scene.client.setRole("SALES", false, user: "eve")
            #expect(Self.user(scene, "eve")?.roles == ["WEST"])
            let error = await failure { try await scene.client.setRole("none", true, user: "eve") }
            #expect(error?.serverMessage == "Wrong Arguments")
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func rightsAreGivenAndTaken(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            for rights in [[.read, .write], .read, []] as [PydioRights] {
                try await scene.client.setRights(rights, ofUser: "bob", inWorkspace: FakePydioWorkspace.teamID)
                let now = Self.user(scene, "bob")?.rights?[FakePydioWorkspace.teamID]?.rawValue ?? 0
                #expect(now == rights.rawValue)
            }
            #expect(Self.user(scene, "bob")?.rights?["0"] == .read)
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func aUserIsDeleted_andNobodyElse(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            try await scene.client.deleteUser(userId: "eve")
            #expect(scene.server.configuration.users.map(\.id) == ["ada", "bob", "guest7"])
            // The newer servers would drop the quotation mark; the older ones would delete the caller.
            for id in ["b\"ob", "BOB", "nobody", "", "ada", "é\u{202E}"] {
                scene.server.forgetRequests()
                for change in Self.changes where ["deleteUser", "setAdministrator", "setLocked"].contains(change.name) {
                    let error = await failure { try await change.run(scene.client, id) }
                    #expect(error?.code == .invalidArgument, "\(change.name) \(id)")
                }
                #expect(scene.server.count("delete") == 0 && scene.server.count("edit") == 0)
            }
            #expect(scene.server.configuration.users.map(\.id) == ["ada", "bob", "guest7"])
        }
    }

    // MARK: Workspaces

    @Test(arguments: FakePydioMode.allCases)
    func workspacesAreCreatedListedAndDeleted(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            var params = CreateWorkspaceRequestParams(label: "Sales & é", path: "/srv/sales")
            (params.slug, params.summary, params.recycleBin) = ("sales", "What is sold", nil)
            let id = try #require(try await scene.client.createWorkspace(params))
            let all = try await scene.client.listAllWorkspaces()
            #expect(all.count == 5)
            #expect(all.last?.workspaceId == id && all.last?.label == "Sales & é" && all.last?.slug == "sales")
            let again = await failure { try await scene.client.createWorkspace(params) }
            #expect(again?.serverMessage == "A repository with the same name already exists")
            #expect(try await scene.client.listWorkspaces().contains { $0.workspaceId == id })
            let none = await failure { try await scene.client.deleteWorkspace(workspaceId: "none") }
            #expect(none?.code == .invalidArgument)
            try await scene.client.deleteWorkspace(workspaceId: id)
            #expect(scene.server.configuration.workspaces.map(\.id).contains(id) == false)
        }
    }

    // MARK: Forbidden or impossible

    @Test(arguments: FakePydioMode.allCases)
    func whoIsNoAdministratorIsToldSo_beforeAnythingIsSent(mode: FakePydioMode) async throws {
        try await Self.with(mode, user: "bob", password: "pässwörd") { scene in
            for change in Self.changes + [Change("users") { client, _ in _ = try await client.users() }] {
                let error = await failure { try await change.run(scene.client, "eve") }
                #expect(error?.code == .notPermitted, "\(change.name)")
                #expect(error?.message == "the user is not an administrator of 127.0.0.1; nothing was changed")
            }
            #expect(
                scene.server.count("edit") == 0 && scene.server.count("delete") == 0 && scene.server.count("ls") == 0)
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func whatAVersionDoesNotHaveIsSaid(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            try await scene.client.authorize()
            for change in Self.changes {
                scene.server.setGate { request in
                    ["edit", "delete", "user_update_right"].contains(request.action) ? .empty : nil
                }
                let error = await failure { try await change.run(scene.client, "bob") }
                #expect(error?.code == .unsupportedOperation, "\(change.name)")
                #expect(error?.message.hasPrefix("the server cannot ") == true)
                #expect(error?.message.hasSuffix("; nothing was changed") == true)
            }
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func refusalsAreInTheServersWords_withoutPasswords(mode: FakePydioMode) async throws {
        try await Self.with(mode) { scene in
            try await scene.client.authorize()
            scene.server.setGate { request in
                guard ["edit", "delete"].contains(request.action) else { return nil }
                let secrets = ["new_user_pwd", "user_pwd"].compactMap { request.parameter($0) }
                return .error("No: \(secrets.joined())")
            }
            for change in Self.changes {
                let error = await failure { try await change.run(scene.client, "bob") }
                let hasSecret = ["createUser", "setPassword"].contains(change.name)
                #expect(error?.serverMessage == (hasSecret ? "No: …" : "No:"), "\(change.name)")
            }
        }
    }

    @Test func aLockThatAnOldServerDidNotSetIsNoSuccess() async throws {
        try await Self.with(.v5_2) { scene in
            scene.server.configure { $0.missingSubActions = ["user_set_lock"] }
            let error = await failure { try await scene.client.setLocked(true, user: "bob") }
            #expect(error?.code == .unsupportedOperation)
            // The result is as requested, no matter who made the change.
            try await scene.client.setLocked(false, user: "bob")
        }
    }

    @Test func hostileListsAreHarmless() async throws {
        try await Self.with(.v5_2) { scene in
            scene.server.setGate { request in
                guard request.action == "ls" else { return nil }
                return .xml(
                    #"<tree><tree ajxp_mime="user_editable" object_id="a&#x202E;b" text="x&#10;y" icon="user.png"/>"#
                        + #"<tree ajxp_mime="user_editable"/><tree/><x/><tree ajxp_mime="file" object_id="f"/></tree>"#)
            }
            let users = try await scene.client.users()
            #expect(users.map(\.userId) == ["a\u{202E}b"])
            #expect(try await scene.client.listAllWorkspaces().isEmpty)
        }
    }
}
