import EncryptionTestSupport
import JSONBytes
import TestSupport
import Testing

@testable import MatrixEncryption

/// A store that is a copy or was restored: no key is used twice.
@Suite struct CopiedStoreTests {
    private let server = KeyServer()
    private let alice, bob: TestDevice
    private let room = RoomToEncrypt.room("@alice:s", "@bob:s")

    init() throws {
        (alice, bob) = (try TestDevice("@alice:s", "A", on: server), try TestDevice("@bob:s", "B", on: server))
        for device in [alice, bob] { try device.encryptRoom("!r:s") }
    }

    /// Marks the store as copied, as a store does when it is opened elsewhere.
    private func mark() throws {
        let mark = CryptoMachine.copyMark
        alice.records.commit([mark.place: mark.state])
        try alice.restart()
    }

    private func talk(_ text: String) throws -> EncryptedEvent {
        let event = try alice.send(text, to: room)
        try bob.sync()
        #expect(try bob.text(event) == text)
        return event
    }

    private func indices(_ event: EncryptedEvent) -> String { event.content["session_id"]?.string ?? "" }

    @Test func itSendsWithNothingThatWasThere_andReadsAll() throws {
        let first = try talk("one")
        let answer = try bob.send("answer", to: room)
        try alice.sync()
        #expect(try alice.text(answer) == "answer")
        let channels = try alice.turn { try $0.channels(with: bob.machine.deviceKeys.curve25519, &$1) }
        let used = alice.machine.account.unpublishedOneTimeKeys.map(\.id)
        try mark()
        #expect(alice.takeNotices().contains(.storeWasCopied))
        let second = try talk("two")
        #expect(indices(first) != indices(second))
        // The room's new key was sent over a new channel.
        let now = try alice.turn { try $0.channels(with: bob.machine.deviceKeys.curve25519, &$1) }
        #expect(now.count == channels.count + 1)
        for old in channels {
            #expect(now.first { $0.session.id == old.session.id }?.session == old.session, "\(old.session.id)")
        }
        // Messages pending on old channels are still readable.
        let late = try bob.send("late", to: room)
        try alice.sync()
        #expect(try alice.text(late) == "late")
        #expect(Set(used).isDisjoint(with: alice.machine.account.unpublishedOneTimeKeys.map(\.id)))
        // The notice is delivered once.
        try alice.restart()
        #expect(!alice.takeNotices().contains(.storeWasCopied))
        #expect(try indices(talk("three")) == indices(second))
    }

    /// A clock that was set back must not create a channel that cannot be used for sending.
    @Test func aClockThatGoesBackDoesNotSilenceIt() throws {
        _ = try talk("one")
        try mark()
        _ = alice.takeNotices()
        alice.now -= 86_400_000
        _ = try talk("two")
        try alice.restart()
        _ = try talk("three")
    }
}
