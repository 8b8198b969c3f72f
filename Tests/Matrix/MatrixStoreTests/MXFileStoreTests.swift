import Foundation
import Glibc
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixSDK

struct MXFileStoreTests {
    private func open(
        _ folder: TemporaryFolder, userId: String = StoreUnderTest.userId, deviceId: String? = "DEVICE",
        eventsPerRoom: Int = 1000
    ) throws -> (MXFileStore, MXStoredSession) {
        let store = MXFileStore(folder: folder.url, eventsPerRoom: eventsPerRoom)
        return (store, try store.open(userId: userId, deviceId: deviceId))
    }

    private func mode(_ url: URL) -> mode_t? {
        var status = stat()
        return stat(url.path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    // MARK: The next start

    @Test func theNextStartFindsAllThatTheSessionNeeds() throws {
        let folder = try TemporaryFolder()
        let (store, first) = try open(folder)
        #expect(first.syncToken == nil)
        #expect(first.rebuildReason == nil)
        var changes = MXStoreChanges()
        var summary = MXRoomSummary(roomId: "!r")
        summary.paginationToken = "p"
        var room = MXStoreChanges.Room()
        room.summary = summary
        room.accountData = [.data("m.tag", content: #"{"tags":{}}"#), .data("m.fully_read")]
        changes.rooms["!r"] = room
        var invite = MXStoreChanges.Room()
        invite.strippedState = [.state("m.room.name"), .state("m.room.member", key: "@a")]
        invite.summary = MXRoomSummary(roomId: "!invite")
        changes.rooms["!invite"] = invite
        changes.accountData = [.data("m.direct"), .data("m.push_rules"), .data("m.direct", content: #"{"a":1}"#)]
        changes.presence = [.data("m.presence", sender: "@a"), .data("m.presence", sender: "@b")]
        changes.syncToken = "s1"
        try store.commit(changes)
        store.close()

        let (again, session) = try open(folder)
        #expect(session.syncToken == "s1")
        #expect(session.rebuildReason == nil)
        #expect(session.summaries.first { $0.roomId == "!r" } == summary)
        #expect(session.summaries.count == 2)
        #expect(session.strippedStates["!invite"]?.map(\.type) == ["m.room.name", "m.room.member"])
        #expect(session.strippedStates["!invite"]?.first?.roomId == "!invite")
        #expect(session.accountData.count == 2)
        #expect(session.accountData.first { $0.type == "m.direct" }?.content["a"] as? Int == 1)
        #expect(session.roomAccountData["!r"]?.count == 2)
        #expect(session.roomAccountData["!r"]?.first?.roomId == "!r")
        #expect(Set(session.presence.map(\.sender)) == ["@a", "@b"])

        changes = MXStoreChanges()
        changes.rooms["!invite"] = MXStoreChanges.Room()
        changes.rooms["!invite"]?.strippedState = []
        try again.commit(changes)
        again.close()
        let (_, third) = try open(folder)
        #expect(third.strippedStates.isEmpty)
        #expect(third.syncToken == "s1")
    }

    @Test func unsentMessagesKeepTheirOrderUntilTheyAreSent() throws {
        func message(_ number: Int, state: MXEvent.SentState = .sending, roomId: String = "!r") -> MXOutgoingEvent {
            MXOutgoingEvent(
                transactionId: "t\(number)", roomId: roomId, type: "m.room.message", content: #"{"body":"\#(number)"}"#,
                localEventId: MXEvent.localEventIdPrefix + "\(number)", ts: 5, state: state,
                failure: state == .failed ? "no network" : nil)
        }
        let folder = try TemporaryFolder()
        let (store, _) = try open(folder)
        var changes = MXStoreChanges()
        changes.outgoing = [message(9), message(1), message(5), message(6, roomId: "!gone")]
        try store.commit(changes)
        changes = MXStoreChanges()
        changes.outgoing = [message(9, state: .failed)]
        changes.sentOutgoing = ["t1", "t77"]
        changes.rooms["!gone"] = MXStoreChanges.Room()
        changes.rooms["!gone"]?.isRemoved = true
        try store.commit(changes)
        store.close()
        let (_, session) = try open(folder)
        #expect(session.outgoing == [message(9, state: .failed), message(5)])
    }

    @Test func aChangeOfOneThingLeavesTheOthers() throws {
        let folder = try TemporaryFolder()
        let (store, _) = try open(folder)
        var changes = MXStoreChanges()
        changes.syncToken = "s1"
        changes.accountData = [.data("m.direct")]
        try store.commit(changes)
        changes = MXStoreChanges()
        changes.rooms["!r"] = MXStoreChanges.Room()
        changes.rooms["!r"]?.timeline = [1].messages
        try store.commit(changes)
        store.close()
        let (_, session) = try open(folder)
        #expect(session.syncToken == "s1")
        #expect(session.accountData.count == 1)
        // A room that only ever had events is not listed.
        #expect(session.summaries.isEmpty)
    }

    @Test func aTagMayHaveAnyOrder() throws {
        let json = """
            {"roomId":"!r","membership":"join","displayName":"","joinedMembersCount":0,"invitedMembersCount":0,
            "heroes":[],"notificationCount":0,"highlightCount":0,"localUnreadEventCount":0,"isMarkedUnread":false,
            "isDirect":false,"isEncrypted":false,"tags":{"a":"inf","b":null,"c":0.25},"hiddenFromUser":false,
            "lastMessageTs":0,"membersAreComplete":false,"hasServerCounts":false}
            """
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        let summary = try decoder.decode(MXRoomSummary.self, from: Data(json.utf8))
        let test = try StoreUnderTest(.file)
        try test.commit { $0.summary = summary }
        test.store.close()
        let (_, session) = try open(test.folder)
        #expect(session.summaries == [summary])
        #expect(session.summaries.first?.tags["a"] == .some(.infinity))
    }

    @Test func aTimelineThatHasGrownIsTrimmedWhenItIsOpened() throws {
        let folder = try TemporaryFolder()
        let (store, _) = try open(folder)
        for batch in 0..<10 {
            var changes = MXStoreChanges()
            var room = MXStoreChanges.Room()
            room.timeline = (batch * 3..<batch * 3 + 3).messages
            room.timelineToken = "t\(batch)"
            room.summary = MXRoomSummary(roomId: "!r")
            changes.rooms["!r"] = room
            try store.commit(changes)
        }
        store.close()
        let (again, session) = try open(folder, eventsPerRoom: 10)
        #expect(session.summaries.first?.paginationToken == "t6")
        #expect(try again.events(in: "!r", before: nil, limit: 100).last?.eventId == "$18")
    }

    // MARK: Ownership

    @Test func eachUserHasAFolder() throws {
        let folder = try TemporaryFolder()
        let users = ["@alice:example.org", "@Alice:example.org", "@alice%3Aexample.org", "../../etc", ".", "@ü:x"]
        for userId in users {
            let (store, session) = try open(folder, userId: userId)
            #expect(session.syncToken == nil)
            var changes = MXStoreChanges()
            changes.syncToken = userId
            try store.commit(changes)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).count == users.count)
        for userId in users {
            #expect(try open(folder, userId: userId).1.syncToken == userId)
        }
        #expect(throws: MatrixError.self) { try open(folder, userId: "") }
    }

    @Test func longUserIdsFitIntoAFileName() throws {
        let folder = try TemporaryFolder()
        for last in ["a", "b"] {
            let userId = "@" + String(repeating: "=", count: 240) + last + ":example.org"
            #expect(StoreFolder.fileName(of: userId).utf8.count <= 240)
            #expect(try open(folder, userId: userId).1.rebuildReason == nil)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).count == 2)
    }

    @Test(arguments: ["OTHER", nil])
    func whatBelongsToAnotherDeviceIsNotTakenOver(deviceId: String?) throws {
        let test = try StoreUnderTest(.file)
        var changes = MXStoreChanges()
        changes.syncToken = "s"
        changes.rooms["!r"] = MXStoreChanges.Room()
        changes.rooms["!r"]?.timeline = [1].messages
        try test.store.commit(changes)
        test.store.close()
        let (store, session) = try open(test.folder, deviceId: deviceId)
        #expect(session.syncToken == nil)
        #expect(session.rebuildReason == "The database belonged to another device of the user.")
        #expect(try store.events(in: "!r", before: nil, limit: 10).isEmpty)
    }

    @Test func whatBelongsToAnotherUserIsNotTakenOver() throws {
        let test = try StoreUnderTest(.file)
        var changes = MXStoreChanges()
        changes.syncToken = "s"
        try test.store.commit(changes)
        test.store.close()
        // As if the folder had been copied.
        try FileManager.default.copyItem(
            at: test.folder.file(""), to: test.folder.url.appendingPathComponent("%40bob%3Aexample.org"))
        let (_, session) = try open(test.folder, userId: "@bob:example.org")
        #expect(session.syncToken == nil)
        #expect(session.rebuildReason == "The database belonged to another user.")
    }

    // MARK: Files

    @Test func onlyTheOwnerCanReadTheFiles() throws {
        let test = try StoreUnderTest(.file)
        try test.commit { $0.timeline = [1].messages }
        #expect(mode(test.folder.file("")) == 0o700)
        let files = try FileManager.default.contentsOfDirectory(atPath: test.folder.file("").path)
        #expect(Set(files).isSuperset(of: ["store.sqlite", "store.sqlite-wal", "lock"]))
        for file in files { #expect(mode(test.folder.file(file)) == 0o600, "\(file)") }
    }

    @Test func filesThatOthersCouldReadAreMadePrivate() throws {
        let test = try StoreUnderTest(.file)
        test.store.close()
        chmod(test.folder.file("").path, 0o755)
        chmod(test.folder.file("store.sqlite").path, 0o644)
        try test.reopenIfPermanent()
        #expect(mode(test.folder.file("")) == 0o700)
        #expect(mode(test.folder.file("store.sqlite")) == 0o600)
    }

    @Test func missingFoldersAreMadeForTheOwnerAlone() throws {
        let folder = try TemporaryFolder()
        let deep = folder.url.appendingPathComponent("a/b")
        _ = try MXFileStore(folder: deep).open(userId: "@a:x", deviceId: nil)
        #expect(mode(deep) == 0o700)
        #expect(mode(deep.deletingLastPathComponent()) == 0o700)
    }

    @Test func aLinkInThePlaceOfTheDatabaseIsNotFollowed() throws {
        let test = try StoreUnderTest(.file)
        test.store.close()
        let victim = test.folder.url.appendingPathComponent("victim")
        try Data("precious".utf8).write(to: victim)
        try FileManager.default.removeItem(at: test.folder.file("store.sqlite"))
        try FileManager.default.createSymbolicLink(at: test.folder.file("store.sqlite"), withDestinationURL: victim)
        #expect(throws: MatrixError.self) { try test.reopenIfPermanent() }
        #expect(try Data(contentsOf: victim) == Data("precious".utf8))
    }

    @Test func aFolderThatCannotBeMadeIsAnError() throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("file")
        try Data().write(to: file)
        for place in [file.appendingPathComponent("x"), URL(fileURLWithPath: "/proc/self/x")] {
            let error = #expect(throws: MatrixError.self) {
                try MXFileStore(folder: place).open(userId: "@a:x", deviceId: nil)
            }
            #expect(error?.code == .store)
            #expect(error?.message.contains(place.path) == true)
        }
    }

    @Test func deletingLeavesNoFile() throws {
        let test = try StoreUnderTest(.file)
        try test.commit { $0.timeline = [1].messages }
        try test.store.deleteAllData()
        #expect(mode(test.folder.file("")) == nil)
        #expect(throws: MatrixError.self) { try test.store.state(of: "!r") }
        let (store, session) = try open(test.folder)
        #expect(session.rebuildReason == nil)
        #expect(try store.events(in: "!r", before: nil, limit: 1).isEmpty)
        store.close()
        try store.deleteAllData()
        #expect(mode(test.folder.file("")) == nil)
        #expect(throws: MatrixError.self) { try MXFileStore(folder: test.folder.url).deleteAllData() }
    }

    @Test func whatWasRedactedIsNotInTheFileAnyMore() throws {
        let test = try StoreUnderTest(.file)
        let secret = String(repeating: "what nobody is to read ", count: 20)
        func fileHasSecret() throws -> Bool {
            test.store.close()
            defer { try? test.reopenIfPermanent() }
            return try Data(contentsOf: test.folder.file("store.sqlite")).range(of: Data(secret.utf8)) != nil
        }
        try test.commit { $0.timeline = [.message("$1"), .message("$2", body: secret), .message("$3")] }
        #expect(try fileHasSecret())
        try test.commit { $0.replaced = [.make(#"{"type":"m.room.message","event_id":"$2","content":{}}"#)] }
        #expect(try !fileHasSecret())
        #expect(try test.timeline() == (1...3).ids)
    }

    @Test func whatIsNotOursInTheFolderStays() throws {
        let test = try StoreUnderTest(.file)
        try Data().write(to: test.folder.file("notes"))
        try test.store.deleteAllData()
        #expect(try FileManager.default.contentsOfDirectory(atPath: test.folder.file("").path) == ["notes"])
    }

    // MARK: One at a time

    @Test func aSecondStoreIsRefusedUntilTheFirstIsClosed() throws {
        let test = try StoreUnderTest(.file)
        let error = #expect(throws: MatrixError.self) { try open(test.folder) }
        #expect(error?.code == .store)
        #expect(error?.message.contains("in use by this process") == true)
        // Another account is independent.
        _ = try open(test.folder, userId: "@bob:example.org")
        test.store.close()
        _ = try open(test.folder)
    }

    @Test func aStoreThatIsLetGoOfIsClosed() throws {
        let folder = try TemporaryFolder()
        _ = try open(folder)
        _ = try open(folder)
    }

    /// As in a child between fork and exec.
    @Test func aCopyOfItsDescriptorsDoesNotKeepTheLock() throws {
        let test = try StoreUnderTest(.file)
        let lock = test.folder.file("lock").resolvingSymlinksInPath().path
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let held = descriptors.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == lock
        }
        let copy = dup(try #require(held.first))
        defer { close(copy) }
        test.store.close()
        _ = try open(test.folder)
    }

    @Test func anotherProcessIsRefusedAsLongAsThisOneLives() async throws {
        let folder = try TemporaryFolder()
        let pipe = Pipe()
        let writer = try ChildProcess(
            KillTests.program, ["write", folder.url.path], output: pipe.fileHandleForWriting)
        try pipe.fileHandleForWriting.close()
        _ = await onThread { pipe.fileHandleForReading.availableData }  // it has committed
        let error = #expect(throws: MatrixError.self) { try open(folder, userId: "@kill:example.org") }
        #expect(error?.message.contains("in use by process \(writer.id)") == true)
        kill(writer.id, SIGKILL)
        await writer.status()
        #expect(try open(folder, userId: "@kill:example.org").1.syncToken != nil)
    }

    @Test func theDefaultFolderIsWhereDataBelongs() {
        let environment = ProcessInfo.processInfo.environment
        let parent =
            environment["XDG_DATA_HOME"]
            ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".local/share").path
        #expect(MXFileStore.defaultFolder.path == parent + "/MatrixSDK")
        #expect(MXFileStore().isPermanent)
    }
}
