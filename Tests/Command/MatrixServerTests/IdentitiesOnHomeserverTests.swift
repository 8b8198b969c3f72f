import Foundation
import MatrixSDK
import TestSupport
import Testing

/// Verification by code, and users with a changed identity, using two instances of our client.
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(5)))
struct IdentitiesOnHomeserverTests {
    /// Reads the other side's code like a camera.
    @Test func twoDevicesVerifyEachOtherByCode() async throws {
        let homeserver = try Homeserver(.plain)
        let first = try await EncryptedUser("ann", on: homeserver)
        let crypto = try #require(try first.session.crypto)
        _ = try await crypto.crossSigning.setup()
        let second = try await EncryptedUser("ann", on: homeserver, as: first.user)
        let other = try #require(try second.session.crypto)
        #expect(await eventually { other.crossSigning.state == .crossSigningExists })
        let (codes, camera) = AsyncStream<[UInt8]>.makeStream()
        let (changes, others) = (crypto.keyVerificationManager.changes(), other.keyVerificationManager.changes())
        async let shows = run(changes) { change in
            switch change.state {
            case .requested: try change.accept()
            case .ready(_, _, let code): camera.yield(try #require(code))
            case .reciprocated: try change.confirmScanned()
            default: break
            }
        }
        async let scans = run(others) { change in
            guard case .ready(_, let canScan, _) = change.state else { return }
            #expect(canScan)
            var codes = codes.makeAsyncIterator()
            try change.scanned(code: #require(await codes.next()))
        }
        _ = try await other.keyVerificationManager.requestVerificationByToDevice(withUserId: first.user.id)
        let (isShown, isScanned) = (try await shows, try await scans)
        #expect(isShown && isScanned)
        // The private keys follow.
        #expect(await eventually { other.crossSigning.state == .canCrossSign })
        let device = try second.deviceId
        #expect(
            await eventually {
                (try? crypto.deviceTrustLevel(forDevice: device, ofUser: first.user.id))?.isVerified == true
            })
    }

    /// - Returns: Whether the verification succeeds.
    private func run(
        _ changes: AsyncStream<MXKeyVerification>, _ act: @escaping @Sendable (MXKeyVerification) async throws -> Void
    ) async throws -> Bool {
        for await change in changes {
            switch change.state {
            case .done: return true
            case .cancelled: return false
            default: try await act(change)
            }
        }
        return false
    }

    @Test func whoHasAnotherIdentityIsSentNothing_untilThatIsAccepted() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, bob) = (
            try await EncryptedUser("ann", on: homeserver), try await EncryptedUser("bob", on: homeserver)
        )
        let (crypto, other) = (try #require(try ann.session.crypto), try #require(try bob.session.crypto))
        for crypto in [crypto, other] { _ = try await crypto.crossSigning.setup() }
        let room = try await ann.makeRoom(inviting: bob.user.id)
        let same = try await bob.join(room.roomId)
        try await crypto.downloadKeys([bob.user.id], forceDownload: true)
        try crypto.crossSigning.signUser(withUserId: bob.user.id)
        #expect(try crypto.trustLevel(forUser: bob.user.id).isVerified)
        #expect(await bob.hears(try await room.sendTextMessage("before"), "before"))

        let alarms = crypto.alarms
        let (password, id) = (bob.user.password, bob.user.id)
        let step = try await other.crossSigning.setup(isReset: true)
        _ = try await step.completed { _ in .password(password, userId: id) }
        for await alarm in alarms where alarm == .identityChanged(userId: id) { break }
        await #expect { try await room.sendTextMessage("kept back") } throws: {
            ($0 as? MatrixError)?.code == .identityChanged
        }
        // The peer's messages are still decrypted.
        #expect(await ann.hears(try await same.sendTextMessage("it is me"), "it is me"))

        try crypto.acceptIdentity(ofUser: id)
        let trust = try crypto.trustLevel(forUser: id)
        #expect(!trust.isVerified && !trust.hasChanged)
        #expect(await bob.hears(try await room.sendTextMessage("after"), "after"))
    }

    /// From now on, different people may read the messages.
    @Test func anotherVisibilityOfTheHistoryBeginsAnotherSession() async throws {
        let homeserver = try Homeserver(.plain)
        let (ann, nio, bob) = (
            try await EncryptedUser("ann", on: homeserver), try await EncryptedPeer("nio", on: homeserver),
            try await EncryptedUser("bob", on: homeserver)
        )
        let room = try await ann.makeRoom(inviting: nio.user.id, bob.user.id)
        try await nio.perform("join", room.roomId)
        _ = try await bob.join(room.roomId)
        var sessions: [String] = []
        for (number, visibility) in [nil, "joined", "shared"].enumerated() {
            if let visibility {
                try await ann.session.matrixRestClient.sendStateEvent(
                    toRoom: room.roomId, eventType: .roomHistoryVisibility,
                    content: ["history_visibility": visibility], stateKey: "")
                #expect(await eventually { room.state?.historyVisibility.rawValue == visibility })
            }
            for text in ["\(number) first", "\(number) second"] {
                let id = try await room.sendTextMessage(text)
                #expect(await nio.hears(id, text))
                #expect(await bob.hears(id, text))
                sessions.append(try await ann.megolmSession(of: id))
            }
        }
        #expect(Set(sessions).count == 3)
        for pair in 0..<3 { #expect(sessions[2 * pair] == sessions[2 * pair + 1]) }
    }
}
