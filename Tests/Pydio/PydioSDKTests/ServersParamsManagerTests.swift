import Foundation
import PydioSDK
import Testing

struct ServersParamsManagerTests {
    private let params = ServersParamsManager()
    private let ada = User(userid: "ada", password: "open sesame")

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    /// Section 2.2 of the protocol's notes.
    @Test func aServerIsItsAddressWithASlash() throws {
        params.setUser(ada, forServer: try url("https://h/pydio"))
        #expect(params.user(forServer: try url("https://h/pydio/")) == ada)
        #expect(params.serversList.map(\.absoluteString) == ["https://h/pydio/"])
        for other in ["https://h/Pydio", "https://H/pydio", "https://h:443/pydio", "http://h/pydio", "https://h"] {
            #expect(params.user(forServer: try url(other)) == nil, "\(other)")
        }
    }

    @Test func whatWasSetCanBeCleared() throws {
        let server = try url("https://h")
        params.setUser(ada, forServer: server)
        params.setSecureToken("t", forServer: server)
        params.setSeed("-1", forServer: server)
        params.setKeystoreToken(KeystoreToken(token: "a", key: "b"), forServer: server)
        params.setCookies(
            [PydioCookie(name: "AjaXplorer", value: "1"), PydioCookie(name: "bad", value: "a;b")], forServer: server)
        #expect(params.secureToken(forServer: server) == "t" && params.seed(forServer: server) == "-1")
        #expect(params.isCookieSet(server) && params.allServerCookies(server).count == 1)
        params.clearSecureToken(server)
        params.clearSeed(server)
        params.clearAllCookies(server)
        #expect(params.secureToken(forServer: server) == nil && params.seed(forServer: server) == nil)
        #expect(!params.isCookieSet(server) && params.keystoreToken(forServer: server) != nil)
        params.clearAll(server)
        #expect(params.keystoreToken(forServer: server) == nil && params.user(forServer: server) == ada)
        params.setUser(nil, forServer: server)
        #expect(params.serversList.isEmpty)
    }

    @Test func usersAreEqualByBoth() {
        #expect(ada == User.user(withId: "ada", andPassword: "open sesame"))
        #expect(ada != User(userid: "ada", password: "x") && Set([ada, ada]).count == 1)
    }

    @Test func thereIsOneForAll() {
        #expect(ServersParamsManager.shared === ServersParamsManager.sharedManager())
        #expect(ServersParamsManager.shared !== params)
    }
}
