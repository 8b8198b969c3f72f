import Basics
import Foundation
import PydioProtocol
import Realtime
import TestSupport
import Testing
import Transport

@Suite struct WorkspaceModelTests {
    private var model = Self.make()

    private static func make(_ change: (inout WorkspaceModel.Configuration) -> Void = { _ in }) -> WorkspaceModel {
        var configuration = WorkspaceModel.Configuration(workspaceId: "0")
        change(&configuration)
        return WorkspaceModel(configuration)
    }

    private static func messages(_ xml: String) throws -> [ChannelMessage] {
        try #require(ChannelMessage.list(in: try XMLReader.read(Array("<tree>\(xml)</tree>".utf8))))
    }

    private static func file(_ path: String, size: Int = 5, time: Int = 100, from: String? = nil) -> String {
        let original = from.map { #" original_path="\#($0)""# } ?? ""
        return #"<tree is_file="true" filename="\#(path)" bytesize="\#(size)" ajxp_modiftime="\#(time)"\#(original)/>"#
    }

    private static func folder(_ path: String, from: String? = nil) -> String {
        let original = from.map { #" original_path="\#($0)""# } ?? ""
        return #"<tree is_file="false" filename="\#(path)" ajxp_modiftime="1" bytesize="0"\#(original)/>"#
    }

    private mutating func consume(_ xml: String) throws -> [String] {
        let messages = try Self.messages(xml)
        return model.consumed(messages, for: .everything).events.map(Self.line)
    }

    private static func line(_ event: PydioEvent) -> String {
        var line = event.name.dropFirst(6) + " " + (event.path ?? "-")
        if let original = event.originalPath { line += " < " + original }
        if event.isLate { line += " late" }
        if let sequence = event.sequence { line += " #\(sequence)" }
        return String(line)
    }

    private static func index(_ files: [String: Int] = [:], folders: [String] = []) -> NodeIndex {
        var entries: [NodePath: NodeIndex.Entry] = [:]
        for (path, time) in files { entries[NodePath(path)] = .init(isLeaf: true, size: 5, mTime: Int64(time)) }
        for folder in folders { entries[NodePath(folder)] = NodeIndex.Entry(isLeaf: false, mTime: 1) }
        return NodeIndex(entries)
    }

    // MARK: Unfinished uploads

    private static let upload = "/pydio-sync-0123456789ab.upload"
    private static let old = "/a.txt.pydio-sync-0123456789ab.old"

    @Test mutating func unfinishedUploadsAreNotShown() throws {
        model.listed(Self.index(["/a.txt": 100]))
        #expect(try consume("<nodes_diff><add>\(Self.file(Self.upload))</add></nodes_diff>") == [])
        #expect(
            try consume("<nodes_diff><update>\(Self.file("/new.txt", from: Self.upload))</update></nodes_diff>")
                == ["node_created /new.txt"])
        #expect(
            try consume(
                "<nodes_diff><add>\(Self.file(Self.upload))</add></nodes_diff>"
                    + "<nodes_diff><update>\(Self.file(Self.old, from: "/a.txt"))</update></nodes_diff>"
                    + "<nodes_diff><update>\(Self.file("/a.txt", size: 6, from: Self.upload))</update></nodes_diff>"
                    + #"<nodes_diff><remove><tree filename="\#(Self.old)"/></remove></nodes_diff>"#)
                == ["node_updated /a.txt"])
    }

    // MARK: Messages

    @Test mutating func messagesBecomeEvents() throws {
        model.listed(Self.index())
        #expect(
            try consume(
                "<nodes_diff><add>\(Self.file("/a"))</add></nodes_diff>"
                    + "<nodes_diff><update>\(Self.file("/a", size: 6, from: "/a"))</update></nodes_diff>"
                    + "<nodes_diff><update>\(Self.file("/b", from: "/a"))</update></nodes_diff>"
                    + #"<nodes_diff><remove><tree filename="/b"/></remove></nodes_diff><reload_bookmarks/>"#
                    + #"<reload_instruction object="repository_list"/><reload_instruction object="data" node="/x"/>"#
                    + #"<require_registry_reload repositoryId="7"/><strange a="1"/>"#) == [
                    "node_created /a", "node_updated /a", "node_moved /b < /a", "node_deleted /b",
                    "bookmarks_changed -", "workspaces_changed -", "reload -", "workspaces_changed -", "message -",
                ])
    }

    @Test mutating func whatWasListedIsNotTold() throws {
        model.listed(Self.index(["/a": 100, "/n": 100]))
        #expect(
            try consume(
                "<nodes_diff><add>\(Self.file("/a"))</add></nodes_diff>"
                    + "<nodes_diff><update>\(Self.file("/a", from: "/a"))</update></nodes_diff>"
                    + "<nodes_diff><update>\(Self.file("/n", from: "/o"))</update></nodes_diff>"
                    + #"<nodes_diff><remove><tree filename="/gone"/></remove></nodes_diff>"#) == [])
    }

    @Test mutating func theSameTwiceIsToldOnce_butForUpdatesWhichNeedNotShow() throws {
        model.listed(Self.index())
        _ = try consume("")
        let create = "<nodes_diff><add>\(Self.file("/a"))</add></nodes_diff>"
        #expect(try consume(create + create) == ["node_created /a"])
        let update = "<nodes_diff><update>\(Self.file("/a", from: "/a"))</update></nodes_diff>"
        #expect(try consume(update + update) == ["node_updated /a", "node_updated /a"])
        let move = "<nodes_diff><update>\(Self.file("/b", from: "/a"))</update></nodes_diff>"
        #expect(try consume(move + move) == ["node_moved /b < /a"])
        let delete = #"<nodes_diff><remove><tree filename="/b"/></remove></nodes_diff>"#
        #expect(try consume(delete + delete) == ["node_deleted /b"])
    }

    @Test mutating func aFolderTakesAlongWhatIsInIt() throws {
        model.listed(Self.index(["/d/x": 1, "/dx": 1], folders: ["/d"]))
        _ = try consume("<nodes_diff><update>\(Self.folder("/e", from: "/d"))</update></nodes_diff>")
        #expect(model.index == Self.index(["/e/x": 1, "/dx": 1], folders: ["/e"]))
        #expect(try consume(#"<nodes_diff><remove><tree filename="/e"/></remove></nodes_diff>"#) == ["node_deleted /e"])
        #expect(model.index == Self.index(["/dx": 1]))
    }

    @Test mutating func whatIsInACopiedFolderIsNotKnown_soThatItsDeletionIsTold() throws {
        model.listed(Self.index())
        _ = try consume("<nodes_diff><add>\(Self.folder("/copy"))</add></nodes_diff>")
        #expect(
            try consume(#"<nodes_diff><remove><tree filename="/copy/in"/></remove></nodes_diff>"#) == [
                "node_deleted /copy/in"
            ])
    }

    @Test mutating func withoutABaseEverythingIsTold() throws {
        model = Self.make { $0.maximumNodes = 1 }
        model.listed(nil)
        let create = "<nodes_diff><add>\(Self.file("/a"))</add></nodes_diff>"
        #expect(try consume(create + create) == ["node_created /a", "node_created /a"])
        #expect(try consume(#"<nodes_diff><remove><tree filename="/z"/></remove></nodes_diff>"#) == ["node_deleted /z"])
        #expect(model.compared(Self.index(["/b": 1])).events == nil)
    }

    @Test mutating func tooMuchToRememberIsForgotten() throws {
        model = Self.make { $0.maximumNodes = 2 }
        model.listed(Self.index(["/a": 1, "/b": 1]))
        #expect(model.index?.count == 2)
        _ = try consume("<nodes_diff><add>\(Self.file("/c"))</add></nodes_diff>")
        #expect(model.index == nil)
    }

    @Test mutating func twoSpellingsOfANameAreTwoNodes() throws {
        model.listed(Self.index(["/caf\u{E9}": 100]))
        #expect(
            try consume("<nodes_diff><add>\(Self.file("/cafe\u{301}"))</add></nodes_diff>")
                == ["node_created /cafe\u{301}"])
        #expect(model.index?.count == 2)
        let rename = "<nodes_diff><update>\(Self.file("/cafe\u{301}", from: "/caf\u{E9}"))</update></nodes_diff>"
        #expect(try consume(rename).map { Array($0.utf8) } == [Array("node_moved /cafe\u{301} < /caf\u{E9}".utf8)])
    }

    @Test mutating func aServerThatWantsTheRegistryReadWithEachPollIsToldOnce() throws {
        let reload = #"<require_registry_reload repositoryId="7"/>"#
        #expect(try consume(reload) == ["workspaces_changed -"])
        #expect(try consume(reload) == [])
        #expect(try consume("") == [])
        #expect(try consume(reload) == ["workspaces_changed -"])
    }

    @Test mutating func beforeAListingNodesAreNotTold_andBeforeTheStartNothingIs() throws {
        let messages = try Self.messages("<nodes_diff><add>\(Self.file("/a"))</add></nodes_diff><reload_bookmarks/>")
        #expect(model.consumed(messages, for: .nothing).events.isEmpty)
        let events = model.consumed(messages, for: .allButNodes).events
        #expect(events.map(\.name) == [PydioEventName.bookmarksChanged])
    }

    // MARK: Comparison

    @Test mutating func differencesAreTold_ofADeletedFolderTheFolderAlone() {
        model.listed(
            Self.index(
                ["/d/x": 1, "/d/e/y": 1, "/d z": 1, "/same": 1, "/old": 1, "/kind": 1], folders: ["/d", "/d/e"]))
        let events = model.compared(
            Self.index(["/d z": 1, "/same": 1, "/old": 2, "/new/n": 3], folders: ["/new", "/kind"])
        ).events
        #expect(
            events?.map(Self.line) == [
                "node_deleted /d late", "node_deleted /kind late", "node_created /kind late",
                "node_created /new late", "node_created /new/n late", "node_updated /old late",
            ])
        #expect(model.compared(Self.index(["/d z": 1], folders: ["/kind"])).events?.count == 3)
    }

    @Test mutating func whatMessagesTellIsNotMissed_whetherTheListingHasItOrNot() throws {
        model.listed(Self.index(["/a": 1, "/b": 1, "/lost": 1]))
        model.listedForComparison(Self.index(["/c": 1, "/b": 1, "/found": 1]), isLossSuspected: false)
        let messages = try Self.messages(
            "<nodes_diff><update>\(Self.file("/c", time: 1, from: "/a"))</update></nodes_diff>"
                + #"<nodes_diff><remove><tree filename="/b"/></remove></nodes_diff>"#
                + "<nodes_diff><add>\(Self.file("/after", time: 1))</add></nodes_diff>")
        let taken = model.consumed(messages, for: .everything)
        #expect(taken.events.map(Self.line) == ["node_moved /c < /a", "node_deleted /b", "node_created /after"])
        #expect(
            taken.comparison?.events?.map(Self.line) == ["node_deleted /lost late", "node_created /found late"])
        #expect(model.index == Self.index(["/c": 1, "/found": 1, "/after": 1]))
        #expect(model.consumed([], for: .everything).comparison == nil)
    }

    @Test(arguments: [
        (#"<remove><tree filename="/a"/></remove>"#, ["/b": 100, "/d/x": 100], ["/d"], false),
        ("<update>\(file("/c", from: "/a"))</update>", ["/c": 100, "/b": 100, "/d/x": 100], ["/d"], false),
        ("<update>\(folder("/e", from: "/d"))</update>", ["/a": 100, "/b": 100, "/e/x": 100], ["/e"], false),
        ("<add>\(file("/n"))</add>", ["/n": 100, "/a": 100, "/b": 100, "/d/x": 100], ["/d"], false),
        ("<add>\(file("/n"))</add>", ["/a": 100, "/b": 100, "/d/x": 100], ["/d"], false),
        ("<add>\(file("/n"))</add>", ["/n": 7, "/a": 100, "/b": 100, "/d/x": 100], ["/d"], true),
        (#"<remove><tree filename="/a"/></remove>"#, ["/d/x": 100], ["/d"], true),
        ("<update>\(file("/c", from: "/a"))</update>", ["/c": 100, "/b": 100, "/c/x": 100], ["/d"], true),
        ("", ["/a": 100, "/b": 100], ["/d"], true),
    ])
    mutating func whatAListingShowsIsAGapUnlessMessagesTellIt(
        change: String, files: [String: Int], folders: [String], isGap: Bool
    ) throws {
        model.listed(Self.index(["/a": 100, "/b": 100, "/d/x": 100], folders: ["/d"]))
        model.listedForComparison(Self.index(files, folders: folders), isLossSuspected: false)
        let messages = try Self.messages("<nodes_diff>\(change)</nodes_diff>")
        #expect(model.consumed(messages, for: .everything).comparison?.isGap == isGap)
    }

    // MARK: WebSocket

    @Test mutating func whatMailboxAndWebSocketBothBringIsToldOnce() throws {
        model.listed(Self.index())
        model.socketOpened()
        let all = try Self.messages(
            (1...5).map { "<nodes_diff><add>\(Self.file("/\($0)"))</add></nodes_diff>" }.joined()
                + "<reload_bookmarks/>")
        #expect(model.socketReceived(Array(all[2..<4])).events.isEmpty)
        let polled = model.consumed(Array(all[..<3]), for: .everything).events
        #expect(polled.map(Self.line) == ["node_created /1", "node_created /2", "node_created /3"])
        #expect(model.socketTakesOver().events.map(Self.line) == ["node_created /4"])
        #expect(
            model.socketReceived(Array(all[4...])).events.map(Self.line) == [
                "node_created /5", "bookmarks_changed -",
            ])
    }

    @Test mutating func whatWasPolledAndComesThroughTheWebSocketLateIsNotToldAgain() throws {
        model.socketOpened()
        let bookmarks = try Self.messages("<reload_bookmarks/>")
        #expect(model.consumed(bookmarks, for: .everything).events.count == 1)
        _ = model.socketTakesOver()
        #expect(model.socketReceived(bookmarks).events.isEmpty)
        #expect(model.socketReceived(bookmarks).events.count == 1)
    }

    @Test mutating func aMailboxThatIsAheadOfTheWebSocketIsToldOnce() throws {
        model.listed(Self.index())
        model.socketOpened()
        let all = try Self.messages(
            (1...4).map { "<nodes_diff><add>\(Self.file("/\($0)"))</add></nodes_diff>" }.joined()
                + "<reload_bookmarks/><reload_bookmarks/>")
        #expect(model.socketReceived(Array(all[1..<3])).events.isEmpty)
        #expect(model.consumed(Array(all[..<5]), for: .everything).events.count == 5)
        #expect(model.socketTakesOver().events.isEmpty)
        // Only the last message was not in the mailbox.
        #expect(model.socketReceived(Array(all[3...])).events.map(Self.line) == ["bookmarks_changed -"])
    }

    @Test mutating func whatCouldNotBeListedIsNotDeleted() {
        model.listed(Self.index(["/d/x": 1, "/dx": 1, "/e/f/x": 1], folders: ["/d", "/e", "/e/f"]))
        var new = Self.index(["/n": 1], folders: ["/d", "/e", "/e/f"])
        new.couldNotList("/d")
        #expect(
            model.compared(new).events?.map { Self.line($0) } == [
                "node_deleted /dx late", "node_deleted /e/f/x late", "node_created /n late",
            ])
        #expect(
            model.compared(Self.index(["/n": 1], folders: ["/d", "/e", "/e/f"])).events?.map { Self.line($0) } == [
                "node_deleted /d/x late"
            ])
    }

    @Test mutating func onceAPingIsAnsweredItIsNews() throws {
        model.socketOpened()
        let bookmarks = try Self.messages("<reload_bookmarks/>")
        _ = model.consumed(bookmarks, for: .everything)
        _ = model.socketTakesOver()
        model.socketAnswered()
        #expect(model.socketReceived(bookmarks).events.count == 1)
    }

    // MARK: Log of changes

    private static func change(
        _ sequence: Int64, _ kind: PydioLoggedChange.Kind, _ source: String?, _ target: String?, size: Int64? = 5
    ) -> PydioLoggedChange {
        PydioLoggedChange(
            sequence: sequence, nodeId: sequence, kind: kind, source: source, target: target,
            node: target.map { .init(size: size, md5: "x", mTime: nil, path: $0, isFolder: false) })
    }

    @Test mutating func theLogIsReadOnFromWhereItWas() {
        model.readsFeed = true
        #expect(
            model.read(PydioChangesResponse(changes: [Self.change(3, .create, nil, "/a")], lastSequence: 7)).isEmpty)
        #expect(model.sequence == 7)
        let events = model.read(
            PydioChangesResponse(
                changes: [
                    Self.change(7, .create, nil, "/told"), Self.change(8, .create, nil, "/b"),
                    Self.change(9, .content, "/b", "/b"), Self.change(10, .path, "/b", "/c"),
                    Self.change(11, .delete, "/c", nil),
                ], lastSequence: 11))
        #expect(
            events.map(Self.line) == [
                "node_created /b #8", "node_updated /b #9", "node_moved /c < /b #10", "node_deleted /c #11",
            ])
        #expect(model.sequence == 11)
    }

    @Test mutating func theLogsEventsSayWhatItSays() {
        model = Self.make { $0.sequence = 0 }
        let time = Date(timeIntervalSince1970: 9)
        let events = model.read(
            PydioChangesResponse(
                changes: [
                    PydioLoggedChange(
                        sequence: 1, nodeId: 1, kind: .create, source: nil, target: "/f",
                        node: .init(size: 5, md5: "m", mTime: time, path: "/f", isFolder: false)),
                    PydioLoggedChange(
                        sequence: 2, nodeId: 2, kind: .create, source: nil, target: "/d",
                        node: .init(size: 7, md5: nil, mTime: time, path: "/d", isFolder: true)),
                    PydioLoggedChange(sequence: 3, nodeId: 3, kind: .delete, source: "/f", target: nil, node: nil),
                    PydioLoggedChange(
                        sequence: 4, nodeId: 4, kind: .delete, source: "/d", target: nil,
                        node: .init(size: 7, md5: nil, mTime: time, path: "/d", isFolder: true)),
                ], lastSequence: 4))
        #expect(events.map(\.isLeaf) == [true, false, nil, false])
        #expect(events.map(\.size) == [5, nil, nil, nil])
        #expect(events.map(\.mTime) == [time, time, nil, nil])
        #expect(events.map(\.md5) == ["m", nil, nil, nil])
        #expect(events.map(\.sequence) == [1, 2, 3, 4])
    }

    @Test mutating func messagesSayWhatANodeIs() throws {
        model.listed(Self.index())
        let messages = try Self.messages(
            #"<nodes_diff><add><tree filename="/a" is_file="true" bytesize="7"/></add></nodes_diff>"#
                + #"<nodes_diff><add><tree filename="/b" is_file="true"/></add></nodes_diff>"#
                + #"<nodes_diff><add><tree filename="/c" is_file="true" ajxp_modiftime="9"/></add></nodes_diff>"#
                + #"<nodes_diff><add><tree filename="/d" is_file="false" bytesize="4"/></add></nodes_diff>"#
                + #"<nodes_diff><remove><tree filename="/d"/></remove></nodes_diff>"#)
        let events = model.consumed(messages, for: .everything).events
        // A file without any details has no size; a file with a known time is empty.
        #expect(events.map(\.size) == [7, nil, 0, nil, nil])
        #expect(events.map(\.isLeaf) == [true, true, true, false, false])
    }

    @Test mutating func differencesSayWhatANodeIs() {
        model.listed(Self.index(["/gone": 1]))
        let events = model.compared(Self.index(["/f": 7], folders: ["/d"])).events ?? []
        #expect(events.map(\.path) == ["/gone", "/d", "/f"])
        #expect(events.map(\.isLeaf) == [true, false, true])
        #expect(events.map(\.size) == [nil, nil, 5])
        #expect(events.map(\.mTime) == [nil, Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 7)])
    }

    @Test mutating func fromAGivenPlaceEverythingAfterItIsTold() {
        model = Self.make { $0.sequence = 3 }
        let events = model.read(
            PydioChangesResponse(changes: [Self.change(4, .create, nil, "/a")], lastSequence: 4))
        #expect(events.map(Self.line) == ["node_created /a #4"])
    }

    @Test mutating func aLogThatBeganAnewTellsNothingUntilAListing_andThenWhatIsNotInIt() {
        model.readsFeed = true
        _ = model.read(PydioChangesResponse(changes: [Self.change(3, .create, nil, "/a")], lastSequence: 9))
        #expect(model.read(PydioChangesResponse(changes: [], lastSequence: 1, isReset: true)).isEmpty)
        #expect(
            model.compared(NodeIndex([NodePath("/b"): .init(isLeaf: true, size: 5)])).events?.map(Self.line) == [
                "node_deleted /a late", "node_created /b late",
            ])
        let events = model.read(
            PydioChangesResponse(
                changes: [Self.change(2, .create, nil, "/b"), Self.change(3, .create, nil, "/c")], lastSequence: 3))
        #expect(events.map(Self.line) == ["node_created /c #3"])
    }

    @Test mutating func withALogMessagesOfNodesOnlyWake() throws {
        model.readsFeed = true
        let messages = try Self.messages("<nodes_diff><add>\(Self.file("/a"))</add></nodes_diff><reload_bookmarks/>")
        let taken = model.consumed(messages, for: .everything)
        #expect(taken.isWoken && taken.events.map(\.name) == [PydioEventName.bookmarksChanged])
    }

    // MARK: Data

    @Test mutating func dataIsJSONUnderTheDocumentedKeys() throws {
        model.listed(Self.index())
        let messages = try Self.messages(
            "<nodes_diff><update>\(Self.file("/b é", size: 7_000_000_000, from: "/a"))</update></nodes_diff>")
        let event = try #require(model.consumed(messages, for: .everything).events.first)
        #expect(
            String(decoding: event.data, as: UTF8.self)
                == #"{"is_leaf":true,"mtime":100,"original_path":"/a","path":"/b é","size":7000000000}"#)
        #expect(
            String(decoding: PydioEvent(state: .connected, in: "0").data, as: UTF8.self) == #"{"state":"connected"}"#)
    }
}
