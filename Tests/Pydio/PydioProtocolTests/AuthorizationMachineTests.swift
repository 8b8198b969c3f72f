import Basics
import Foundation
import PydioProtocol
import TestSupport
import Testing
import Transport

/// An authorization driven by hand (section 4 of the protocol's notes), with its orders as readable lines.
struct AuthorizationScript {
    var machine = AuthorizationMachine(deviceId: "device")
    var kind = PydioAuthentication.automatic
    private var order: AuthorizationMachine.Order?
    private let server: ServerAddress

    init(user: User? = User(userid: "ada", password: "open sesame"), as kind: PydioAuthentication = .automatic) throws {
        server = try ServerAddress(#require(URL(string: "https://h/")))
        self.kind = kind
        machine.setUser(user)
    }

    /// A script with a session that has the token `t1`.
    static func loggedIn() throws -> AuthorizationScript {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        _ = script.answer(seed)
        _ = script.answer(#"<tree ><logging_result value="1" secure_token="t1"/></tree>"#, cookie: "s1")
        return script
    }

    static let seed = "5f3a0c9e1b7d42a68e90d1c2b3a4f567"

    var pass: AuthorizationMachine.Pass { machine.pass(as: kind) }

    mutating func refused(
        _ refusal: AuthorizationMachine.Refusal, _ pass: AuthorizationMachine.Pass? = nil, repeatsLogin: Bool = true
    ) -> String {
        describe(machine.refused(pass ?? self.pass, refusal, as: kind, repeatsLogin: repeatsLogin))
    }

    mutating func allowRepetition() {
        if let order { machine.allowRepetition(of: order) }
    }

    mutating func adopt(_ session: KeptSession) -> String {
        order.map { describe(machine.adopt(session, for: $0)) } ?? "nothing was asked"
    }

    mutating func authorize() -> String { describe(machine.authorize(as: kind)) }

    mutating func login(captcha: String) -> String { describe(machine.login(captcha: captcha, as: kind)) }

    /// - Parameter type: `nil` to derive it from the text.
    mutating func answer(
        _ body: String, type: String? = nil, status: Int = 200, cookie: String? = nil
    ) -> String {
        guard let order else { return "nothing was asked" }
        var response = HTTPResponse(status: status, body: Array(body.utf8))
        let looks =
            body.isEmpty
            ? "text/html" : body.hasPrefix("<") ? "text/xml" : body.hasPrefix("{") ? "application/json" : "text/plain"
        response.fields["Content-Type"] = type ?? looks
        if let cookie { response.fields["Set-Cookie"] = "AjaXplorer=\(cookie); path=/" }
        return describe(
            machine.answered(order, response, from: server, now: .start, seconds: 0))
    }

    mutating func fail(_ code: PydioError.Code) -> String {
        order.map { describe(machine.failed($0, PydioError(code, "failed"))) } ?? "nothing was asked"
    }

    private mutating func describe(_ action: AuthorizationMachine.CallAction) -> String {
        switch action {
        case .retry: return "retry"
        case .wait: return "wait"
        case .fail(let error): return "fail \(error.errorCode)"
        case .begin(let order): return describe(order)
        }
    }

    private mutating func describe(_ progress: AuthorizationMachine.Progress) -> String {
        switch progress {
        case .send(let order): return describe(order)
        case .done: return "done"
        case .failed(let error): return "fail \(error.errorCode)"
        case .none: return "none"
        }
    }

    /// The relevant parts of a request.
    private mutating func describe(_ order: AuthorizationMachine.Order) -> String {
        self.order = order
        guard let (request, pass) = machine.request(for: order, now: .start) else { return "no request" }
        let names = ["login_seed", "password", "captcha_code", "remember_me", "cookie_login", "device"]
        let values = names.compactMap { name in
            if case .text(let value) = request.parameters[name] { "\(name)=\(value)" } else { nil }
        }
        return ([request.action] + values + [describe(pass)]).filter { !$0.isEmpty }.joined(separator: " ")
    }

    private func describe(_ pass: RequestPass) -> String {
        switch pass {
        case .session(let cookies, let token): [cookies, token].compactMap { $0 }.joined(separator: " ")
        case .signed: "signed"
        case .basic(let user): "as \(user.userid)"
        }
    }
}

struct AuthorizationMachineTests {
    // MARK: Remembered logins

    private static func remembered(_ kind: PydioAuthentication = .automatic) throws -> AuthorizationScript {
        var script = try AuthorizationScript(user: nil, as: kind)
        script.machine.setCookies([
            PydioCookie(name: "AjaXplorer", value: "s1"), PydioCookie(name: "AjaXplorer-remember", value: "ada:r1"),
        ])
        script.machine.setSecureToken("t1")
        return script
    }

    @Test func onlyWhoWantsItIsRemembered() throws {
        for (kind, wants) in [(PydioAuthentication.rememberedSession, true), (.session, false)] {
            var script = try AuthorizationScript(as: kind)
            #expect(script.authorize() == "ping")
            #expect(script.answer("") == "get_seed")
            #expect(
                script.answer("-1") == "login login_seed=-1 password=open sesame" + (wants ? " remember_me=true" : ""))
        }
    }

    @Test func aRememberedLoginNeedsNoPassword() throws {
        for kind in [PydioAuthentication.automatic, .session, .rememberedSession] {
            var script = try Self.remembered(kind)
            // Sends neither the old session nor its token.
            #expect(
                script.refused(.notAuthorized)
                    == "login login_seed=-1 cookie_login=true AjaXplorer-remember=ada:r1")
            #expect(
                script.answer(#"<tree ><logging_result value="1" secure_token="t2"/></tree>"#, cookie: "s2") == "done")
            #expect(script.machine.secureToken == "t2")
            #expect(script.machine.cookies.cookies(now: .start).map(\.name) == ["AjaXplorer-remember", "AjaXplorer"])
        }
    }

    @Test(arguments: ["-5", "-1", "-3", "2", "x"])
    func whatTheServerDoesNotRememberIsForgotten(value: String) throws {
        var script = try Self.remembered()
        _ = script.refused(.notAuthorized)
        #expect(script.answer(#"<tree ><logging_result value="\#(value)"/></tree>"#) == "fail 3")
        #expect(script.machine.lastRefusal == .rememberedLoginInvalid)
        #expect(script.machine.cookies.cookies(now: .start).isEmpty)
        #expect(script.authorize() == "fail 3")
    }

    @Test func aLostTokenOfARememberedLoginIsFoundOrMadeAnew() throws {
        var script = try Self.remembered()
        #expect(script.refused(.token) == "get_secure_token AjaXplorer=s1; AjaXplorer-remember=ada:r1 t1")
        #expect(
            script.answer("<tree ><require_auth/></tree>")
                == "login login_seed=-1 cookie_login=true AjaXplorer-remember=ada:r1")
        #expect(script.fail(.network) == "fail 101")
        // The cookie may still be valid.
        #expect(script.authorize() == "login login_seed=-1 cookie_login=true AjaXplorer-remember=ada:r1")
    }

    @Test func aPasswordWinsOverARememberedLogin_andAKeyPairIsNoUseOfOne() throws {
        var script = try AuthorizationScript(as: .session)
        script.machine.setCookies([PydioCookie(name: "AjaXplorer-remember", value: "ada:r1")])
        #expect(script.authorize() == "ping")
        var pair = try Self.remembered(.keystoreToken)
        #expect(pair.authorize() == "fail 3")
    }

    private static let hashed = "login login_seed=\(AuthorizationScript.seed) password=5ba18395da99ad45c6be12321e8e3c9e"
    private static let loggedIn = #"<tree ><logging_result value="1" secure_token="t1"/></tree>"#
    private static let requireAuth = "<tree ><require_auth/></tree>"
    private static let notAllowed =
        #"<tree ><message type="ERROR">You are not allowed to access this resource.</message></tree>"#

    private static func result(_ value: String) -> String { #"<tree ><logging_result value="\#(value)"/></tree>"# }

    @Test func aRefusedCallLogsIn() throws {
        var script = try AuthorizationScript()
        let pass = script.pass
        #expect(script.refused(.notAuthorized) == "ping")
        #expect(script.answer(Self.requireAuth, cookie: "s0") == "get_seed AjaXplorer=s0")
        #expect(script.answer("\(AuthorizationScript.seed)\n") == "\(Self.hashed) AjaXplorer=s0")
        #expect(script.answer(Self.loggedIn, cookie: "s1") == "done")
        #expect(script.pass.secureToken == "t1" && script.pass.generation > pass.generation)
        #expect(
            script.machine.requestPass(script.pass, nonce: "", now: .start)
                == .session(cookies: "AjaXplorer=s1", secureToken: "t1"))
        #expect(script.refused(.notAuthorized, pass) == "retry")
    }

    @Test func onlyTheFirstOfManyBegins() throws {
        var script = try AuthorizationScript()
        let pass = script.pass
        #expect(script.refused(.notAuthorized, pass) == "ping")
        #expect(script.refused(.notAuthorized, pass) == "wait")
        #expect(script.refused(.token, pass) == "wait")
        #expect(script.authorize() == "wait" && script.login(captcha: "x") == "wait")
        _ = script.answer("")
        _ = script.answer(AuthorizationScript.seed)
        #expect(script.answer(Self.loggedIn) == "done")
        #expect(script.refused(.notAuthorized, pass) == "retry")
        #expect(script.refused(.notAuthorized) == "ping")
        #expect(script.refused(.notAuthorized, pass) == "wait")
    }

    @Test func whatWasSentBeforeAFailureFailsWithIt() throws {
        var script = try AuthorizationScript()
        let early = script.pass
        _ = script.refused(.notAuthorized, early)
        _ = script.answer("")
        _ = script.answer(AuthorizationScript.seed)
        #expect(script.answer(Self.result("-1")) == "fail 3")
        #expect(script.refused(.notAuthorized, early) == "fail 3")
        // A new call is a new attempt; so is one of a user with another password.
        #expect(script.refused(.notAuthorized) == "ping")
        #expect(script.fail(.network) == "fail 101" && script.refused(.notAuthorized, early) == "fail 101")
        script.machine.setUser(User(userid: "ada", password: "new"))
        #expect(script.refused(.notAuthorized, early) == "ping")
    }

    @Test func nobodyCannotLogIn() throws {
        var script = try AuthorizationScript(user: nil)
        #expect(script.refused(.notAuthorized) == "fail 3")
        #expect(script.authorize() == "fail 3" && script.login(captcha: "x") == "fail 3")
        // The token may belong to an earlier session.
        #expect(script.refused(.token) == "get_secure_token")
        #expect(script.answer(Self.requireAuth) == "fail 3")
        #expect(!script.machine.isAuthorizing)
    }

    @Test(
        arguments: [
            ("-1", PydioLoginResult.refused, "fail 3"), ("2", .loggedOut, "fail 3"), ("-3", .noWorkspace, "fail 3"),
            ("-5", .rememberedLoginInvalid, "fail 3"), ("7", .other("7"), "fail 3"), ("-4", .captcha, "fail 5"),
        ] as [(String, PydioLoginResult, String)])
    func otherResultsAreErrors(value: String, result: PydioLoginResult, expected: String) throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        _ = script.answer(AuthorizationScript.seed)
        #expect(script.answer(Self.result(value)) == expected)
        #expect(PydioLoginResult(value: value) == result)
        #expect(!script.machine.isAuthorizing)
    }

    @Test(
        arguments: [
            ("{\"seed\":\"abc\"}", "application/json", "login login_seed=abc"),
            (" abc \n", "text/plain", "login login_seed=abc"), ("{\"seed\":7}", "text/html", "fail 100"),
            ("{\"captcha\":true}", "application/json", "fail 1"), ("{", "application/json", "fail 1"),
            ("", "text/plain", "fail 1"), ("two words", "text/plain", "fail 1"),
            ("<html>Gateway</html>", "text/html", "fail 100"), ("<tree/>", "text/xml", "fail 100"),
            (requireAuth, "text/xml", "fail 100"),
        ] as [(String, String, String)])
    func seedsComeInSeveralForms(body: String, type: String, expected: String) throws {
        var script = try AuthorizationScript(as: .session)
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        #expect(script.answer(body, type: type).hasPrefix(expected))
    }

    @Test(arguments: [("-1", "text/plain"), ("{\"seed\":-1}", "application/json"), ("{\"seed\":\"-1\"}", "text/plain")])
    func aSeedOfMinusOneWantsThePassword(body: String, type: String) throws {
        var script = try AuthorizationScript(as: .session)
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        #expect(script.answer(body, type: type) == "login login_seed=-1 password=open sesame")
    }

    @Test func aCaptchaIsAnsweredWithTheSeedThatCameWithIt() throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        _ = script.answer("", cookie: "s0")
        #expect(script.answer(#"{"seed":"\#(AuthorizationScript.seed)","captcha":true}"#) == "fail 4")
        #expect(script.login(captcha: "wrong") == "\(Self.hashed) captcha_code=wrong AjaXplorer=s0")
        #expect(script.answer(Self.result("-4")) == "fail 5")
        #expect(script.login(captcha: "right") == "\(Self.hashed) captcha_code=right AjaXplorer=s0")
        #expect(script.answer(Self.loggedIn) == "done")
    }

    @Test func aNumberAsSeedOfACaptchaIsKept() throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        #expect(script.answer(#"{"seed":-1,"captcha":true}"#) == "fail 4")
        #expect(script.machine.seed == "-1")
        #expect(script.login(captcha: "c") == "login login_seed=-1 password=open sesame captcha_code=c")
    }

    // MARK: Tokens

    @Test func aRefusedTokenIsReplaced() throws {
        var script = try AuthorizationScript.loggedIn()
        #expect(script.refused(.token) == "get_secure_token AjaXplorer=s1 t1")
        #expect(script.answer("t2-abcdefgh") == "done")
        #expect(script.pass.secureToken == "t2-abcdefgh")
    }

    @Test func withoutASessionATokenIsOfNoUse() throws {
        var script = try AuthorizationScript.loggedIn()
        _ = script.refused(.token)
        #expect(script.answer(Self.requireAuth) == "ping")
        #expect(script.answer("", cookie: "s2") == "get_seed AjaXplorer=s2")
        #expect(script.answer(AuthorizationScript.seed).hasPrefix("login"))
        #expect(script.answer(Self.loggedIn) == "done")
    }

    @Test func aTokenThatIsMissingAtTheLoginIsAskedFor() throws {
        var script = try AuthorizationScript.loggedIn()
        script.machine.setSecureToken(nil)
        #expect(script.refused(.notAuthorized) == "ping")
        #expect(script.answer(Self.notAllowed, cookie: "s2") == "get_seed AjaXplorer=s2")
        #expect(script.answer(Self.notAllowed) == "get_secure_token AjaXplorer=s2")
        #expect(script.answer("t2-abcdefgh") == "get_seed AjaXplorer=s2 t2-abcdefgh")
        #expect(script.answer(AuthorizationScript.seed).hasSuffix("AjaXplorer=s2 t2-abcdefgh"))
        #expect(script.answer(Self.loggedIn) == "done")
    }

    @Test func ifThatFailsItBeginsAnewOnce() throws {
        var script = try AuthorizationScript.loggedIn()
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        #expect(script.answer(AuthorizationScript.seed).hasPrefix("login"))
        #expect(script.answer(Self.notAllowed) == "get_secure_token")
        #expect(script.answer("<html/>", type: "text/html") == "ping")
        #expect(script.answer("", cookie: "s2") == "get_seed AjaXplorer=s2")
        #expect(script.answer(AuthorizationScript.seed).hasSuffix("AjaXplorer=s2"))
        #expect(script.answer(Self.notAllowed) == "fail 6")
        #expect(!script.machine.isAuthorizing)
    }

    // MARK: Other clients of the account

    @Test func aLoginHasASessionOfItsOwn_unlessACaptchaIsBeingSolved() throws {
        var script = try AuthorizationScript.loggedIn()
        #expect(script.refused(.notAuthorized) == "ping")
        _ = script.answer("", cookie: "s2")
        #expect(script.answer(#"{"seed":-1,"captcha":true}"#) == "fail 4")
        #expect(script.refused(.notAuthorized) == "ping AjaXplorer=s2")
    }

    @Test func aRefusalIsTriedOnceMore_ifOthersLogInAtTheSameTime() throws {
        var script = try AuthorizationScript.loggedIn()
        _ = script.refused(.notAuthorized)
        script.allowRepetition()
        for expected in ["ping", "fail 3"] {
            _ = script.answer("", cookie: "s2")
            #expect(script.answer(AuthorizationScript.seed).hasSuffix("AjaXplorer=s2"))
            #expect(script.answer(Self.result("-1")) == expected)
        }
        #expect(!script.machine.isAuthorizing && script.refused(.notAuthorized) == "ping")
    }

    @Test func whatAnotherHasGotMeanwhileIsTaken() throws {
        var script = try AuthorizationScript.loggedIn()
        let pass = script.pass
        _ = script.refused(.notAuthorized)
        let kept = KeptSession(
            cookies: [PydioCookie(name: "AjaXplorer", value: "theirs")], secureToken: "t2", keystoreToken: nil)
        #expect(script.adopt(kept) == "done")
        #expect(script.refused(.notAuthorized, pass) == "retry" && script.pass.secureToken == "t2")
        #expect(script.machine.cookies.field(now: .start) == "AjaXplorer=theirs")
    }

    @Test func callsThatRepeatByThemselvesDoNotRepeatARefusedLogin() throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        _ = script.answer(AuthorizationScript.seed)
        #expect(script.answer(Self.result("-1")) == "fail 3")
        #expect(script.refused(.notAuthorized, repeatsLogin: false) == "fail 3")
        script.machine.forgetRefusal()
        #expect(script.refused(.notAuthorized, repeatsLogin: false) == "ping")
        // A network failure says nothing about the login.
        #expect(script.fail(.network) == "fail 101")
        #expect(script.refused(.notAuthorized, repeatsLogin: false) == "ping")
    }

    // MARK: Addresses without a server

    @Test(arguments: [(404, "fail 100"), (500, "fail 500"), (302, "fail 302"), (401, "get_seed")] as [(Int, String)])
    func aPingTellsWhetherThereIsAServer(status: Int, expected: String) throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        #expect(script.answer("<html/>", type: "text/html", status: status) == expected)
    }

    @Test func failuresOfTheNetworkEndIt() throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        #expect(script.fail(.network) == "fail 101" && !script.machine.isAuthorizing)
        #expect(script.answer("") == "none" && script.fail(.network) == "none")
        #expect(script.refused(.notAuthorized) == "ping")
    }

    // MARK: Key pairs

    private static let pairRequest = "keystore_generate_auth_token device=device as ada"

    @Test func aServerThatWantsThePasswordIsAskedForAPair() throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        #expect(script.answer("-1") == Self.pairRequest)
        #expect(script.answer(#"{"t":"a","p":"b"}"#) == "done")
        #expect(script.pass.keystoreToken == KeystoreToken(token: "a", key: "b"))
        #expect(
            script.machine.requestPass(script.pass, nonce: "n", now: .start)
                == .signed(KeystoreToken(token: "a", key: "b"), nonce: "n"))
    }

    @Test(arguments: [(200, ""), (404, "<html/>"), (200, "<html/>")] as [(Int, String)])
    func aServerWithoutPairsGetsASession(status: Int, body: String) throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        _ = script.answer("-1")
        #expect(script.answer(body, type: "text/html", status: status) == "login login_seed=-1 password=open sesame")
        #expect(script.answer(Self.loggedIn) == "done" && script.pass.keystoreToken == nil)
        // The server is not asked for one again.
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        #expect(script.answer("-1").hasPrefix("login"))
    }

    @Test func aRefusedPairIsReplacedOnce() throws {
        var script = try AuthorizationScript()
        script.machine.setKeystoreToken(KeystoreToken(token: "a", key: "b"))
        #expect(script.refused(.notAuthorized) == Self.pairRequest)
        #expect(script.answer(#"{"t":"c","p":"d"}"#) == "done")
        #expect(script.refused(.notAuthorized) == Self.pairRequest)
        #expect(script.answer("You are not authorized to access this API.", status: 401) == "ping")
        #expect(script.answer("") == "get_seed" && script.pass.keystoreToken == nil)
        #expect(script.answer("-1") == "login login_seed=-1 password=open sesame")
        #expect(script.answer(Self.result("-1")) == "fail 3")
    }

    /// Within one attempt, which may start over.
    @Test func aPairIsAskedForOnce() throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        #expect(script.answer("-1") == Self.pairRequest)
        #expect(script.answer("later", status: 503).hasPrefix("login"))
        #expect(script.answer(Self.notAllowed) == "get_secure_token")
        #expect(script.answer("0123456789") == "get_seed 0123456789")
        #expect(script.answer("-1").hasPrefix("login"))
    }

    @Test func anOrderOfAnAttemptThatIsOverAsksNothing() throws {
        var script = try AuthorizationScript()
        guard case .begin(let order) = script.machine.refused(script.pass, .notAuthorized, as: .automatic) else {
            Issue.record("nothing was begun")
            return
        }
        #expect(script.machine.request(for: order, now: .start) != nil)
        #expect(script.fail(.network) == "nothing was asked")
        guard case .failed = script.machine.failed(order, .cancelled) else {
            Issue.record("it has not failed")
            return
        }
        #expect(script.machine.request(for: order, now: .start) == nil)
        #expect(script.refused(.notAuthorized) == "ping")
        #expect(script.machine.request(for: order, now: .start) == nil)
    }

    @Test func aSessionOnlyNeverShowsThePasswordToTheRESTInterface() throws {
        var script = try AuthorizationScript(as: .session)
        script.machine.setKeystoreToken(KeystoreToken(token: "a", key: "b"))
        #expect(script.pass.keystoreToken == nil)
        #expect(script.refused(.notAuthorized) == "ping")
        _ = script.answer("")
        #expect(script.answer("-1").hasPrefix("login"))
    }

    @Test func pairsOnlyMakeNoSession() throws {
        var script = try AuthorizationScript(as: .keystoreToken)
        #expect(script.refused(.notAuthorized) == Self.pairRequest)
        #expect(script.answer("no", status: 401) == "fail 3")
        #expect(script.authorize() == Self.pairRequest && script.answer("") == "fail 100")
    }

    @Test func aServerThatHashesIsNotShownThePassword() throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        #expect(script.answer(AuthorizationScript.seed).hasPrefix("login"))
    }

    // MARK: Settings

    @Test func anotherUserGetsAnotherSession() throws {
        var script = try AuthorizationScript.loggedIn()
        script.machine.setUser(User(userid: "ada", password: "new"))
        #expect(script.pass.secureToken == "t1")
        let pass = script.pass
        #expect(script.refused(.notAuthorized) == "ping")
        script.machine.setUser(User(userid: "bob", password: "x"))
        #expect(script.pass.secureToken == nil && !script.machine.isAuthorizing)
        #expect(script.answer("") == "none")
        #expect(script.refused(.notAuthorized, pass) == "retry" && script.refused(.notAuthorized) == "ping")
    }

    @Test func cookiesOfOvertakenCallsAreNotTaken() throws {
        var script = try AuthorizationScript()
        let server = try ServerAddress(#require(URL(string: "https://h/")))
        let early = script.pass
        func take(_ id: String, of pass: AuthorizationMachine.Pass) {
            script.machine.take(
                ["Set-Cookie": "AjaXplorer=\(id)"], of: pass, from: server, now: .start, seconds: 0)
        }
        take("a", of: early)
        #expect(script.refused(.notAuthorized) == "ping")
        take("b", of: early)
        #expect(script.answer("", cookie: "d") == "get_seed AjaXplorer=d")
        _ = script.answer(AuthorizationScript.seed)
        _ = script.answer(Self.loggedIn, cookie: "in")
        take("c", of: early)
        #expect(script.machine.cookies.field(now: .start) == "AjaXplorer=in")
    }

    @Test(arguments: [("~~~~", true), ("!!!!", true), ("a\u{7F}b", false), ("a b", false), ("ü", false)])
    func seedsAreWordsOfASCII(seed: String, isTaken: Bool) throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        #expect(script.answer(seed, type: "text/plain").hasPrefix(isTaken ? "login login_seed=\(seed)" : "fail 1"))
    }

    @Test(arguments: [200, 201])
    func seedsHaveAtMostTwoHundredBytes(count: Int) throws {
        var script = try AuthorizationScript()
        _ = script.refused(.notAuthorized)
        _ = script.answer("")
        #expect(script.answer(String(repeating: "s", count: count)).hasPrefix(count == 200 ? "login" : "fail 1"))
    }

    @Test func aTokenThatIsSetMakesOlderPassesOld() throws {
        var script = try AuthorizationScript()
        let pass = script.pass
        script.machine.setSecureToken("t")
        #expect(script.pass.secureToken == "t" && script.pass.generation > pass.generation)
        let second = script.pass
        script.machine.setSecureToken("t")
        #expect(script.pass.generation == second.generation)
    }

    @Test func secretsAreNotShown() throws {
        let script = try AuthorizationScript.loggedIn()
        #expect(script.machine.secrets.contains("open sesame") && script.machine.secrets.contains("s1"))
        for text in ["\(script.machine)", String(reflecting: script.machine), "\(script.pass)"] {
            #expect(!text.contains("sesame") && !text.contains("t1"))
        }
    }
}
