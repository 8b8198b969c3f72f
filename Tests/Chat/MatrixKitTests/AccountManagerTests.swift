import Foundation
import JSONBytes
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixKit

@Suite(.overSockets)
@MainActor
struct AccountManagerTests {
    private let folder: TemporaryFolder
    private var accountsFolder: URL { folder.url.appending(path: "accounts") }
    private var stores: URL { accountsFolder.appending(path: "stores") }

    init() throws { folder = try TemporaryFolder() }

    private func account(_ server: FakeHomeserver, _ user: String = "@a:s") -> MXKAccount {
        let account = MXKAccount(credentials: KitScene.credentials(server, user: user))
        account.clientOptions = KitScene.options
        account.sessionOptions.enableCrypto = false
        return account
    }

    private func server() async throws -> FakeHomeserver {
        let server = try await FakeHomeserver.start()
        server.on("GET", "versions", .json(#"{"versions":["v1.11"]}"#))
        server.on("GET", "v3/sync") { request in
            request.parameter("since") == nil
                ? .json(#"{"next_batch":"s1","rooms":{"join":{\#(KitScene.room("!r:s"))}}}"#) : .silence
        }
        server.on("GET", "v3/profile/*", .json(#"{"displayname":"Alice","avatar_url":"mxc://s/a"}"#))
        server.on("POST", "v3/logout", .ok)
        return server
    }

    // MARK: The file

    @Test func accountsAreKept_andNobodyElseCanReadThem() async throws {
        let server = try await server()
        let manager = MXKAccountManager(folder: accountsFolder)
        let account = account(server)
        manager.addAccount(account, andOpenSession: false)
        account.others = ["x": Data([1])]
        account.enableInAppNotifications = false
        #expect(TemporaryFolder.mode(accountsFolder) == 0o700)
        #expect(TemporaryFolder.mode(accountsFolder.appending(path: "accounts.json")) == 0o600)
        let later = MXKAccountManager(folder: accountsFolder)
        let same = try #require(later.account(forUserId: "@a:s"))
        #expect(same.mxCredentials == account.mxCredentials)
        #expect(same.others == ["x": Data([1])])
        #expect(!same.enableInAppNotifications)
        #expect(later.activeAccounts.count == 1)
        same.isDisabled = true
        #expect(later.activeAccounts.isEmpty)
    }

    @Test func twoProgramsDoNotLoseEachOthersAccounts() async throws {
        let server = try await server()
        let (one, other) = (MXKAccountManager(folder: accountsFolder), MXKAccountManager(folder: accountsFolder))
        one.addAccount(account(server, "@a:s"), andOpenSession: false)
        other.addAccount(account(server, "@b:s"), andOpenSession: false)
        one.accounts.first?.enableInAppNotifications = false
        let later = MXKAccountManager(folder: accountsFolder)
        #expect(later.accounts.map(\.userId) == ["@a:s", "@b:s"])
        #expect(later.accounts.first?.enableInAppNotifications == false)
        one.forceReloadAccounts()
        #expect(one.accounts.map(\.userId) == ["@a:s", "@b:s"])
        let gone = try #require(other.account(forUserId: "@b:s"))
        await other.removeAccount(gone, sendLogoutRequest: false)
        one.forceReloadAccounts()
        #expect(one.accounts.map(\.userId) == ["@a:s"])
    }

    @Test func aDamagedFileIsSaid_andLeftAsItIs() async throws {
        let server = try await server()
        MXKAccountManager(folder: accountsFolder).addAccount(account(server), andOpenSession: false)
        let file = accountsFolder.appending(path: "accounts.json")
        try Data("[{".utf8).write(to: file)
        let manager = MXKAccountManager(folder: accountsFolder)
        #expect(manager.accounts.isEmpty)
        #expect(manager.fileTrouble?.contains("damaged") == true)
        manager.addAccount(account(server, "@b:s"), andOpenSession: false)
        #expect(try Data(contentsOf: file) == Data("[{".utf8))
    }

    @Test func aFileThatOthersCanReadIsSaid_andLeftAsItIs() async throws {
        let server = try await server()
        MXKAccountManager(folder: accountsFolder).addAccount(account(server), andOpenSession: false)
        let file = accountsFolder.appending(path: "accounts.json")
        chmod(file.path, 0o640)
        let manager = MXKAccountManager(folder: accountsFolder)
        #expect(manager.accounts.isEmpty)
        #expect(manager.fileTrouble?.contains("others can read \(file.path), mode 640") == true)
        chmod(file.path, 0o600)
        #expect(MXKAccountManager(folder: accountsFolder).accounts.count == 1)
    }

    @Test func refreshedTokensAreOnTheDiskBeforeTheyAreUsed() async throws {
        let server = try await server()
        server.on("POST", "v3/refresh", .json(#"{"access_token":"new","refresh_token":"r2","expires_in_ms":100000}"#))
        server.on("GET", "v3/devices/*", .json(#"{"device_id":"DEVICE","display_name":"chat"}"#))
        var credentials = KitScene.credentials(server)
        (credentials.refreshToken, credentials.accessTokenExpiresAt) = ("r1", 1)
        let account = MXKAccount(credentials: credentials)
        account.clientOptions = KitScene.options
        let manager = MXKAccountManager(folder: accountsFolder)
        manager.addAccount(account, andOpenSession: false)
        try await account.loadDeviceInformation()
        #expect(account.device?.displayName == "chat")
        #expect(server.requests("GET", "v3/devices/DEVICE").last?.token == "new")
        let kept = MXKAccountManager(folder: accountsFolder).accounts.first?.mxCredentials
        #expect(kept?.accessToken == "new")
        #expect(kept?.refreshToken == "r2")
    }

    // MARK: Sessions

    @Test func anAccountWhoseStoreIsInUse_saysSo_andTheOthersWork() async throws {
        let server = try await server()
        let manager = MXKAccountManager(folder: accountsFolder)
        let (used, free) = (account(server, "@a:s"), account(server, "@b:s"))
        for account in [used, free] { manager.addAccount(account, andOpenSession: false) }
        let owner = MXFileStore(folder: stores)
        _ = try owner.open(userId: "@a:s", deviceId: "DEVICE")
        manager.prepareSessionForActiveAccounts()
        #expect(used.storeState == .inUse(process: getpid()))
        #expect(used.mxSession == nil)
        #expect(free.storeState == .open)
        #expect(await eventually { @MainActor in free.mxSession?.state == .running })
        #expect(manager.accountKnowingRoom(withRoomIdOrAlias: "!r:s") === free)
        owner.close()
        manager.prepareSessionForActiveAccounts()
        #expect(used.storeState == .open)
        for account in manager.accounts { account.closeSession(false) }
    }

    @Test func theNameIsReadAndToldOnce() async throws {
        let server = try await server()
        let manager = MXKAccountManager(folder: accountsFolder)
        let account = account(server, "@named:s")
        var told = 0
        let observer = NotificationCenter.default.addObserver(
            forName: .mxkAccountUserInfoDidChange, object: nil, queue: nil
        ) { note in
            let isOurs = note.object as? String == "@named:s"
            MainActor.assumeIsolated { if isOurs { told += 1 } }
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        manager.addAccount(account, andOpenSession: true)
        #expect(await eventually { @MainActor in account.userDisplayName == "Alice" })
        #expect(account.fullDisplayName == "Alice (@named:s)")
        #expect(MXKAccountManager(folder: accountsFolder).accounts.first?.userAvatarUrl == "mxc://s/a")
        server.on("PUT", "v3/profile/*/displayname", .ok)
        try await account.setUserDisplayName("Ann")
        #expect(account.fullDisplayName == "Ann (@named:s)")
        #expect(told == 2)
        account.closeSession(false)
    }

    // MARK: Ending

    @Test func removingLogsOutFirst_andDeletesTheStore() async throws {
        let server = try await server()
        let manager = MXKAccountManager(folder: accountsFolder)
        let account = account(server)
        manager.addAccount(account, andOpenSession: true)
        #expect(await eventually { @MainActor in account.mxSession?.state == .running })
        #expect(FileManager.default.fileExists(atPath: stores.path))
        var calls = 0
        manager.removeAccount(account) { calls += 1 }
        manager.removeAccount(account) { calls += 1 }
        #expect(await eventually { @MainActor in calls == 2 })
        #expect(server.requests("POST", "v3/logout").map(\.token) == ["token-@a:s"])
        #expect(manager.accounts.isEmpty)
        #expect(account.mxSession == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: stores.path).isEmpty)
        #expect(MXKAccountManager(folder: accountsFolder).accounts.isEmpty)
    }

    @Test func aServerThatDoesNotAnswer_doesNotKeepAnAccount() async throws {
        let server = try await server()
        server.on("POST", "v3/logout", .silence)
        let manager = MXKAccountManager(folder: accountsFolder)
        let account = account(server)
        account.logoutTimeout = .milliseconds(50)
        manager.addAccount(account, andOpenSession: true)
        let start = ContinuousClock.now
        await manager.removeAccount(account)
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(server.requests("POST", "v3/logout").count == 1)
        #expect(manager.accounts.isEmpty)
        #expect(MXKAccountManager(folder: accountsFolder).accounts.isEmpty)
    }

    @Test func aSoftLogoutKeepsTheStore_andNewTokensGoOn() async throws {
        let server = try await server()
        let manager = MXKAccountManager(folder: accountsFolder)
        let account = account(server)
        manager.addAccount(account, andOpenSession: true)
        #expect(await eventually { @MainActor in account.mxSession?.state == .running })
        server.on("GET", "v3/devices/*", .unknownToken())
        await #expect(throws: (any Error).self) { try await account.loadDeviceInformation() }
        #expect(await eventually { @MainActor in account.isSoftLogout })
        #expect(manager.activeAccounts.isEmpty)
        #expect(account.mxSession == nil)
        var credentials = account.mxCredentials
        credentials.accessToken = "fresh"
        manager.hydrateAccount(account, with: credentials)
        #expect(account.mxSession?.room(withRoomId: "!r:s") != nil)
        #expect(MXKAccountManager(folder: accountsFolder).accounts.first?.mxCredentials.accessToken == "fresh")
        account.closeSession(false)
    }

    @Test func aLoginThatTheServerHasEnded_isRemoved() async throws {
        let server = try await server()
        let manager = MXKAccountManager(folder: accountsFolder)
        let account = account(server)
        manager.addAccount(account, andOpenSession: true)
        #expect(await eventually { @MainActor in account.mxSession?.state == .running })
        server.on("GET", "v3/devices/*", .unknownToken(softLogout: false))
        await #expect(throws: (any Error).self) { try await account.loadDeviceInformation() }
        #expect(await eventually { @MainActor in manager.accounts.isEmpty })
        #expect(server.requests("POST", "v3/logout").isEmpty)
    }
}
