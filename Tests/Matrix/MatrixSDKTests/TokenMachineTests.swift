import MatrixProtocol
import MatrixSDK
import Testing

struct TokenMachineTests {
    private static let minute: UInt64 = 60_000
    private let expired = MXError(errcode: "M_UNKNOWN_TOKEN", error: "", status: 401)
    private let forbidden = MXError(errcode: "M_FORBIDDEN", error: "", status: 403)

    private func credentials(_ access: String, _ refresh: String? = "r1", expiresAt: UInt64 = 0) -> MXCredentials {
        var credentials = MXCredentials(homeServer: "h", userId: "@a:s", accessToken: access)
        credentials.refreshToken = refresh
        credentials.accessTokenExpiresAt = expiresAt
        return credentials
    }

    private func refresh(_ id: Int, _ token: String = "r1", after delay: Duration = .zero) -> TokenMachine.WantedAction
    {
        .refresh(TokenMachine.Refresh(id: id, token: token, delay: delay))
    }

    @Test func aTokenWithoutAnEndIsSentAsItIs() {
        var machine = TokenMachine(credentials("a1"))
        #expect(machine.tokenWanted(now: 1) == .send(token: "a1"))
        var nobody = TokenMachine()
        #expect(nobody.tokenWanted(now: 1) == .send(token: nil))
    }

    @Test func oneRefreshServesAll() {
        var machine = TokenMachine(credentials("a1"))
        #expect(machine.tokenRejected("a1", expired) == .refreshFirst)
        #expect(machine.tokenWanted(now: 1) == refresh(1))
        #expect(machine.tokenRejected("a1", expired) == .refreshFirst)
        #expect(machine.tokenWanted(now: 2) == .wait)
        let new = credentials("a2", "r2", expiresAt: 100_003)
        #expect(
            machine.refreshSucceeded(id: 1, accessToken: "a2", refreshToken: "r2", expiresIn: 100_000, now: 3)
                == .save(id: 2, new))
        #expect(machine.tokenWanted(now: 4) == .wait)  // not before it is saved
        #expect(machine.credentials?.accessToken == "a1")
        #expect(machine.saved(id: 2, now: 0) == .use(new))
        #expect(machine.tokenWanted(now: 5) == .send(token: "a2"))
        #expect(machine.tokenRejected("a1", expired) == .again)  // a late report about the old one
        #expect(machine.tokenWanted(now: 5) == .send(token: "a2"))
    }

    @Test(
        arguments: [
            (10 * minute, 9 * minute, true), (10 * minute, 9 * minute + 1, false), (minute, minute / 2, true),
            (minute, minute / 2 + 1, false), (15_000, 7_500, true), (15_000, 7_501, false),
        ] as [(UInt64, UInt64, Bool)])
    func aTokenIsRefreshedBeforeItExpires(life: UInt64, now: UInt64, isSent: Bool) {
        var machine = TokenMachine()
        machine.loggedIn(credentials("a1", expiresAt: life), now: 0)
        #expect(machine.tokenWanted(now: now) == (isSent ? .send(token: "a1") : refresh(2)))
    }

    @Test func theOldRefreshTokenStaysWithoutANewOne() {
        var machine = TokenMachine(credentials("a1"))
        _ = machine.tokenRejected("a1", expired)
        _ = machine.tokenWanted(now: 0)
        _ = machine.refreshSucceeded(id: 1, accessToken: "a2", refreshToken: nil, expiresIn: nil, now: 0)
        #expect(machine.saved(id: 2, now: 0) == .use(credentials("a2", "r1")))
    }

    @Test func tokensThatCannotBeSavedAreNotUsed() {
        var machine = TokenMachine(credentials("a1"))
        _ = machine.tokenRejected("a1", expired)
        _ = machine.tokenWanted(now: 0)
        _ = machine.refreshSucceeded(id: 1, accessToken: "a2", refreshToken: "r2", expiresIn: nil, now: 0)
        machine.savingFailed(id: 2)
        let new = credentials("a2", "r2")
        #expect(machine.tokenWanted(now: 0) == .save(id: 3, new))
        #expect(machine.saved(id: 2, now: 0) == .none)  // late
        #expect(machine.tokenWanted(now: 0) == .wait)
        #expect(machine.saved(id: 3, now: 0) == .use(new))
    }

    @Test func aRefusedRefreshEndsItAndIsReportedOnce() {
        var machine = TokenMachine(credentials("a1"))
        _ = machine.tokenRejected("a1", expired)
        _ = machine.tokenWanted(now: 0)
        let ending = TokenMachine.Ending(error: forbidden, isSoftLogout: false, isRefreshTokenAuth: true)
        #expect(machine.refreshRefused(id: 1, forbidden) == ending)
        #expect(machine.refreshRefused(id: 1, forbidden) == nil)
        #expect(machine.tokenWanted(now: 9) == .fail(ending))
        #expect(machine.tokenRejected("a1", expired) == .fail(ending))
    }

    @Test func withoutARefreshTokenARejectionEndsIt() {
        var machine = TokenMachine(credentials("a1", nil))
        let ending = TokenMachine.Ending(error: expired, isSoftLogout: false, isRefreshTokenAuth: false)
        #expect(machine.tokenRejected("a1", expired) == .end(ending))
        #expect(machine.tokenRejected("a1", expired) == .fail(ending))
        #expect(machine.tokenWanted(now: 0) == .fail(ending))
    }

    @Test func aFailureOnTheWayKeepsTheTokensAndWaitsLongerEachTime() {
        var machine = TokenMachine(credentials("a1"))
        _ = machine.tokenRejected("a1", expired)
        var now: UInt64 = 0
        for (id, delay) in [0, 1000, 2000, 4000, 8000, 15_000, 15_000].enumerated() {
            #expect(machine.tokenWanted(now: now) == refresh(id + 1, after: .milliseconds(delay)))
            now += UInt64(delay)
            machine.refreshFailed(id: id + 1, now: now, random: 1)
        }
        #expect(machine.credentials == credentials("a1"))
    }

    @Test func anEarlyRefreshThatFailsHoldsNobodyUp() {
        var machine = TokenMachine()
        machine.loggedIn(credentials("a1", expiresAt: 10 * Self.minute), now: 0)
        let now = 9 * Self.minute + 1
        #expect(machine.tokenWanted(now: now) == refresh(2))
        machine.refreshFailed(id: 2, now: now, random: 1)
        #expect(machine.tokenWanted(now: now) == .send(token: "a1"))
        #expect(machine.tokenWanted(now: now + 1000) == refresh(3))
    }

    /// Whatever its lifetime.
    @Test(arguments: [10 * minute, 5])
    func aTokenThatIsRejectedIsNotSentAgain(expiry: UInt64) {
        var machine = TokenMachine(credentials("a1", expiresAt: expiry))
        #expect(machine.tokenRejected("a1", expired) == .refreshFirst)
        #expect(!machine.isUsable(at: 4))
        #expect(machine.tokenWanted(now: 6) == refresh(1))
    }

    @Test func aLoginInTheMiddleMakesTheRefreshVoid() {
        var machine = TokenMachine(credentials("a1"))
        _ = machine.tokenRejected("a1", expired)
        _ = machine.tokenWanted(now: 0)
        machine.loggedIn(credentials("b1", nil), now: 0)
        #expect(
            machine.refreshSucceeded(id: 1, accessToken: "a2", refreshToken: "r2", expiresIn: nil, now: 0) == .none)
        #expect(machine.refreshRefused(id: 1, forbidden) == nil)
        #expect(machine.tokenWanted(now: 0) == .send(token: "b1"))
        machine.loggedOut()
        #expect(machine.tokenWanted(now: 0) == .send(token: nil))
    }

    // MARK: Absurd servers

    @Test(
        arguments: [
            (nil, nil), (0, nil), (-1, nil), (.min, nil), (.max, nil), (1, 2_000), (1_999, 2_000), (2_001, 2_001),
            (3_600_000, 3_600_000),
        ] as [(Int?, UInt64?)])
    func aLifeThatSaysNothingIsNone_andAShortOneIsProlonged(given: Int?, expected: UInt64?) {
        #expect(TokenMachine.life(given) == expected)
    }

    /// A server that rejects every token that it issues.
    @Test func tokensThatDieAtOnceAreReplacedLessAndLess() {
        var machine = TokenMachine(credentials("a1"))
        var (now, id): (UInt64, Int) = (1_000, 1)
        var pauses: [Int] = []
        for _ in 0..<9 {
            _ = machine.tokenRejected("a1", expired)
            guard case .refresh(let refresh) = machine.tokenWanted(now: now) else { break }
            let pause = Int(refresh.delay / .milliseconds(1))
            pauses.append(pause)
            now += UInt64(pause)
            _ = machine.refreshSucceeded(id: id, accessToken: "a1", refreshToken: "r1", expiresIn: 0, now: now)
            _ = machine.saved(id: id + 1, now: now)
            id += 2
        }
        #expect(pauses == [0, 250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000])
        // A token that has lasted for a while is replaced at once.
        _ = machine.tokenRejected("a1", expired)
        #expect(machine.tokenWanted(now: now + 10_000) == refresh(id))
    }

    @Test func aShortLifeIsNoHurry() {
        var machine = TokenMachine(credentials("a1"))
        var (now, id): (UInt64, Int) = (0, 1)
        _ = machine.tokenRejected("a1", expired)
        for _ in 0..<5 {
            #expect(machine.tokenWanted(now: now) == refresh(id))
            _ = machine.refreshSucceeded(id: id, accessToken: "a1", refreshToken: "r1", expiresIn: 5000, now: now)
            _ = machine.saved(id: id + 1, now: now)
            #expect(machine.tokenWanted(now: now + 2500) == .send(token: "a1"))
            now += 2501
            id += 2
        }
    }

    @Test func noTokenIsPrinted() {
        let refresh = TokenMachine.Refresh(id: 1, token: "secret", delay: .zero)
        #expect(!"\(refresh)".contains("secret") && !"\(credentials("secret", "secret"))".contains("secret"))
    }
}
