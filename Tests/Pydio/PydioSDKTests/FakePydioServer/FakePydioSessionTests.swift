import Basics
import PydioTestSupport
import Testing
import Transport

/// Sections 4, 5 and 13.1 to 13.8 of the protocol's notes.
@Suite struct FakePydioSessionTests {
    private static let requireAuth = "<tree ><require_auth/></tree>"
    private static let notAllowed =
        #"<tree ><message type="ERROR">You are not allowed to access this resource.</message></tree>"#

    @Test func theFirstRequestGetsACookieAndLoginAnother() async throws {
        let client = RawClient(try await .start())
        let ping = try await client.get("ping")
        #expect(ping.status == 200 && ping.xml == Self.requireAuth)
        let first = try #require(client.cookie)
        #expect(try await client.get("no_such_action").xml == Self.requireAuth)
        #expect(client.cookie == first)
        try await client.logIn()
        #expect(client.cookie != nil && client.cookie != first)
        #expect(client.server.sessions.map(\.user) == ["ada"])
    }

    @Test func pingAndUnknownActionsAreEmptyPagesOnceLoggedIn() async throws {
        let client = try await RawClient.start(.start())
        for action in ["ping", "no_such_action"] {
            let answer = try await client.get(action)
            #expect(answer.status == 200 && answer.text.isEmpty && answer.type.hasPrefix("text/html"))
        }
        #expect(client.server.count("ping") == 1)
    }

    @Test func newerServersAddAMessageBehindRequireAuth() async throws {
        let client = RawClient(try await .start(.init(mode: .v8)))
        #expect(try await client.get("ping").xml.hasPrefix("<tree ><require_auth/><message "))
    }

    // MARK: Seeds and passwords

    @Test func seedsAreHexadecimalTextOrMinusOne() async throws {
        let client = RawClient(try await .start(.withHashedPasswords))
        let seed = try await client.get("get_seed")
        #expect(seed.type == "text/plain; charset=UTF-8")
        #expect(seed.text.count == 32 && seed.text.allSatisfy(\.isHexDigit))
        client.server.configure { $0.seedForm = .clear }
        #expect(try await client.get("get_seed").text == "-1")
        client.server.configure { $0.seedForm = .json }
        let json = try await client.get("get_seed").json as? [String: String]
        #expect(json?.count == 1 && json?["seed"]?.count == 32)
        for mode in FakePydioMode.allCases {
            #expect(try await RawClient(.start(.init(mode: mode))).get("get_seed").text == "-1")
        }
    }

    @Test(arguments: FakePydioMode.allCases)
    func theRightPasswordLogsIn(mode: FakePydioMode) async throws {
        let client = RawClient(try await .start(.init(mode: mode)))
        let answer = try await client.logIn(" BOB ", "pässwörd")
        #expect(answer.attribute("secure_token")?.count == 32)
        let token = try #require(answer.attribute("secure_token"))
        #expect(answer.xml == #"<tree ><logging_result value="1" secure_token="\#(token)"/></tree>"#)
    }

    @Test func theSeedMustBeTheSessions() async throws {
        let client = RawClient(try await .start(.withHashedPasswords))
        #expect(try await client.logIn(seed: "5f3a0c9e1b7d42a68e90d1c2b3a4f567").attribute("value") == "-1")
        let seed = try await client.get("get_seed").text
        #expect(try await client.logIn(seed: seed).attribute("value") == "1")
    }

    @Test func theThirdFailureWantsACaptcha() async throws {
        let client = RawClient(try await .start(.withHashedPasswords))
        var values: [String?] = []
        for _ in 1...3 { values.append(try await client.logIn("ada", "wrong").attribute("value")) }
        #expect(values == ["-1", "-1", "-4"])
        let seed = try #require(try await client.get("get_seed").json as? [String: Any])
        #expect(seed["captcha"] as? Bool == true)
        let text = try #require(seed["seed"] as? String)
        #expect(try await client.logIn(seed: text).attribute("value") == "-4")
        let image = try await client.get("get_captcha")
        #expect(image.type == "image/png" && image.response.body.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        #expect(try await client.logIn(seed: text, ["captcha_code": "wrong"]).attribute("value") == "-4")
        let code = try #require(client.server.captchaCode)
        #expect(try await client.logIn(seed: text, ["captcha_code": code]).attribute("value") == "1")
        // The success reset the count.
        let other = RawClient(client.server)
        #expect(try await other.get("get_seed").text.count == 32)
    }

    @Test func eachImageReplacesTheCode() async throws {
        let client = RawClient(try await .start(.withHashedPasswords))
        client.server.forceCaptcha()
        let answer = try await client.get("get_seed").json as? [String: Any]
        let seed = try #require(answer?["seed"] as? String)
        _ = try await client.get("get_captcha")
        let old = try #require(client.server.captchaCode)
        _ = try await client.get("get_captcha")
        let new = try #require(client.server.captchaCode)
        #expect(old != new)
        #expect(try await client.logIn(seed: seed, ["captcha_code": old]).attribute("value") == "-4")
        #expect(try await client.logIn(seed: seed, ["captcha_code": new]).attribute("value") == "1")
    }

    @Test(arguments: FakePydioMode.allCases)
    func aClearSeedComesWithACaptchaAsANumber(mode: FakePydioMode) async throws {
        let client = RawClient(try await .start(.init(mode: mode)))
        client.server.forceCaptcha()
        #expect(try await client.get("get_seed").text == #"{"seed":-1,"captcha":true}"#)
    }

    @Test func usersWhoCannotWorkAreAnsweredInTheirWays() async throws {
        var configuration = FakePydioServer.Configuration(users: [
            FakePydioUser(id: "none", password: "x", condition: .withoutWorkspace),
            FakePydioUser(id: "out", password: "x", condition: .lockedOut),
            FakePydioUser(id: "new", password: "x", condition: .mustChangePassword),
        ])
        configuration.captchaAfter = nil
        let server = try await FakePydioServer.start(configuration)
        #expect(try await RawClient(server).logIn("none", "x").attribute("value") == "-3")
        #expect(try await RawClient(server).logIn("out", "x").attribute("value") == "-1")
        let client = try await RawClient.start(server, user: "new", password: "x")
        let workspaces = try await client.get("get_xml_registry", ["xPath": "user/repositories"])
        #expect(
            workspaces.xml == #"<ajxp_registry_part xPath="user/repositories" ><repositories/></ajxp_registry_part>"#)
        server.configure { $0.loginValue = -5 }
        #expect(try await RawClient(server).logIn("new", "x").xml == #"<tree ><logging_result value="-5"/></tree>"#)
    }

    // MARK: Secure tokens

    @Test func allButAFewActionsWantTheToken() async throws {
        let client = try await RawClient.start(.start())
        let right = client.token
        for wrong in [nil, "0123"] {
            client.token = wrong
            for action in ["ls", "ping", "get_seed", "get_captcha", "login", "logout"] {
                #expect(try await client.get(action).xml == Self.notAllowed, "\(action)")
            }
        }
        client.token = right
        #expect(try await client.get("ping").text.isEmpty)
    }

    @Test func anotherTokenReplacesTheFormerOnlyInTheOlderServers() async throws {
        for (mode, action) in [
            (FakePydioMode.v5_2, "get_secure_token"), (.v5_2, "get_boot_conf"), (.v8, "get_boot_conf"),
        ] {
            let client = try await RawClient.start(.start(.init(mode: mode)))
            let first = client.token
            client.token = nil
            let answer = try await client.get(action)
            let isText = action == "get_secure_token"
            let second = isText ? answer.text : (answer.json as? [String: Any])?["SECURE_TOKEN"] as? String
            #expect(second?.count == 32 && second != first)
            client.token = second
            #expect(try await client.get("ping").text.isEmpty)
            client.token = first
            #expect(try await client.get("ping").text.isEmpty == (mode == .v8))
        }
    }

    @Test func anonymousSessionsGetTokensToo() async throws {
        let client = RawClient(try await .start())
        client.token = try await client.get("get_secure_token").text
        #expect(try await client.logIn().attribute("value") == "1")
    }

    @Test func aLostSessionHasNoTokenAndSoWantsALogin() async throws {
        let client = try await RawClient.start(.start())
        let cookie = client.cookie
        client.server.expireSessions()
        #expect(try await client.get("ls").xml == Self.requireAuth)
        #expect(client.cookie == cookie)
        let answer = try await client.get("get_xml_registry", ["xPath": "user/repositories"])
        #expect(answer.xml == #"<ajxp_registry_part xPath="user/repositories" ></ajxp_registry_part>"#)
    }

    @Test func expiredTokensAreRefused() async throws {
        let client = try await RawClient.start(.start())
        client.server.expireTokens()
        #expect(try await client.get("ls").xml == Self.notAllowed)
    }

    @Test func logoutEndsTheSession() async throws {
        let client = try await RawClient.start(.start())
        let cookie = client.cookie
        #expect(try await client.get("logout").xml == #"<tree ><logging_result value="2"/></tree>"#)
        #expect(client.cookie != cookie)
        client.token = nil
        #expect(try await client.get("ls").xml == Self.requireAuth)
    }

    // MARK: Workspaces and rights

    @Test func workspacesAreListedForGETAlone() async throws {
        let client = try await RawClient.start(.start())
        let answer = try await client.get("get_xml_registry", ["xPath": "user/repositories"])
        let start = #"<ajxp_registry_part xPath="user/repositories" ><repositories><repo access_type="fs" id="0""#
        #expect(answer.xml.hasPrefix(start))
        #expect(answer.text.contains("<label>Plans</label><description>Drawings &amp; notes</description>"))
        #expect(answer.attributes("repositorySlug") == ["plans", "my-files", "team", "my-dashboard"])
        #expect(answer.attribute("owner") == "Ada")
        let posted = try await client.post("get_xml_registry", ["xPath": "user/repositories"])
        #expect(posted.xml.hasPrefix("<ajxp_registry>"))
    }

    @Test func anUnknownWorkspaceIsAnsweredFromTheCurrentOne() async throws {
        let client = try await RawClient.start(.start())
        client.server.addFolder("/here", in: "0")
        client.server.addFolder("/there", in: FakePydioWorkspace.teamID)
        let parameters: KeyValuePairs = ["tmp_repository_id": "77", "options": "al"]
        #expect(try await client.get("ls", parameters).attributes("filename").contains("/here"))
        _ = try await client.get("switch_repository", ["repository_id": FakePydioWorkspace.teamID])
        #expect(try await client.get("ls", parameters).attributes("filename") == ["", "/there"])
    }

    @Test func withoutARightTheMessageComesFirst() async throws {
        let server = try await FakePydioServer.start(
            .init(users: [FakePydioUser(id: "eve", password: "x", rights: ["0": .write, "1": .read])]))
        let client = try await RawClient.start(server, user: "eve", password: "x")
        let noRead = try await client.get("stat", ["tmp_repository_id": "0", "file": "/a"])
        #expect(
            noRead.xml
                == #"<tree ><message type="ERROR">You have no read permission on this folder</message><require_auth/></tree>"#
        )
        let noWrite = try await client.post("mkdir", ["tmp_repository_id": "1", "dir": "/", "dirname": "a"])
        #expect(
            noWrite.xml
                == #"<tree ><message type="ERROR">You have no write permission on this folder</message><require_auth/></tree>"#
        )
        #expect(try await client.get("ls", ["tmp_repository_id": "0"]).xml == "<tree ></tree>")
    }

    @Test func itTellsWhatItWasAsked() async throws {
        let client = try await RawClient.start(.start())
        client.server.forgetRequests()
        _ = try await client.post("delete", ["nodes[]": "/a b+c", "nodes[]": "/é"])
        let request = try #require(client.server.requests("delete").first)
        #expect(request.method == "POST" && request.parameters.array("nodes") == ["/a b+c", "/é"])
        #expect(request.token == client.token && request.session == client.cookie)
        #expect(client.server.requests.count == 1)
    }
}
