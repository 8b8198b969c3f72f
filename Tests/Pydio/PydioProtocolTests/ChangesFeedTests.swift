import Foundation
import PydioProtocol
import Testing
import Transport

/// Section 10 of the protocol's notes.
struct ChangesFeedTests {
    private func read(_ text: String, after sequence: Int64 = 0) -> PydioChangesResponse? {
        ChangesFeed.read(Array(text.utf8), after: sequence)
    }

    private static let document = """
        {"changes":[
         {"seq":"43","node_id":"7","type":"path","source":"/a/n.txt","target":"/a/m.txt","node":{"bytesize":"5",
          "md5":"5d41402abc4b2a76b9719d911017c592","mtime":"1700000000","node_path":"/a/m.txt","repository_identifier":"0"}},
         {"seq":44,"node_id":9,"type":"delete","source":"/old","target":"NULL","node":{"bytesize":null,"md5":null,
          "mtime":null,"node_path":null,"repository_identifier":null}},
         {"seq":"41","node_id":"7","type":"create","source":"NULL","target":"/a/n.txt","node":{"bytesize":0,
          "md5":"directory","mtime":1700000000,"node_path":false}}],
         "last_seq":"44"}
        """

    @Test func entriesComeInTheOrderOfTheirNumbers() throws {
        let feed = try #require(read(Self.document))
        #expect(feed.lastSequence == 44 && !feed.isReset)
        #expect(feed.changes.map(\.sequence) == [41, 43, 44] && feed.changes.map(\.nodeId) == [7, 7, 9])
        #expect(feed.changes.map(\.kind) == [.create, .path, .delete])
        #expect(feed.changes.map(\.source) == [nil, "/a/n.txt", "/old"])
        #expect(feed.changes.map(\.target) == ["/a/n.txt", "/a/m.txt", nil])
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        #expect(
            feed.changes.map(\.node) == [
                .init(size: 0, md5: nil, mTime: date, path: nil, isFolder: true),
                .init(
                    size: 5, md5: "5d41402abc4b2a76b9719d911017c592", mTime: date, path: "/a/m.txt", isFolder: false),
                nil,
            ])
    }

    @Test func streamedFeedsAreTheSame() throws {
        let rows = [
            #"{"seq":9007199254740993,"node_id":1,"type":"content","source":"/ü","target":"/ü","node":{}}"#,
            #"{"seq":"2","node_id":"1","type":"create","source":"NULL","target":"/ü","node":null}"#,
        ]
        let feed = try #require(read(rows.joined(separator: "\n") + "\r\nLAST_SEQ:9007199254740993\n"))
        #expect(feed.changes.map(\.sequence) == [2, 9_007_199_254_740_993])
        #expect(feed.lastSequence == 9_007_199_254_740_993 && feed.changes[1].source == "/ü")
        #expect(read("LAST_SEQ: 5")?.changes.isEmpty == true)
    }

    @Test func everyCutIsUnreadable() {
        let streamed = #"{"seq":1,"type":"create","source":"NULL","target":"/a"}"# + "\n" + "LAST_SEQ:12\n"
        for text in [Self.document, streamed] {
            let bytes = Array(text.utf8)
            // A truncated number is still a number: only the line ending before it reveals the end.
            let end = text == streamed ? bytes.count - 3 : bytes.count
            for count in 0..<end { #expect(ChangesFeed.read(Array(bytes.prefix(count)), after: 0) == nil) }
        }
    }

    /// Old servers send the log with the type of a page; an actual page is not a log.
    @Test(
        arguments: [
            ("application/json", #"{"changes":[],"last_seq":1}"#, true), ("text/html", "LAST_SEQ:1\n", true),
            ("text/html", #" {"changes":[],"last_seq":1}"#, true), ("text/html", "<b>{}</b>", false),
            ("text/plain", "no log", false), ("text/xml", "<a/>", false),
        ])
    func anAnswerIsALogByItsLooks(type: String, body: String, isLog: Bool) {
        let response = HTTPResponse(status: 200, fields: ["Content-Type": type], body: Array(body.utf8))
        switch AnswerRecogniser.changes(after: 0).read(response) {
        case .value(let changes): #expect(isLog && changes.lastSequence == 1)
        case .unexpected(let error): #expect(!isLog && error.code == .receivedNotExpectedAnswer)
        case .notAuthorized, .serverError: Issue.record("it is neither")
        }
    }

    @Test func aNumberThatGoesBackIsANewBeginning() {
        #expect(read(#"{"changes":[],"last_seq":1}"#, after: 44)?.isReset == true)
        #expect(read(#"{"changes":[],"last_seq":44}"#, after: 44)?.isReset == false)
    }

    @Test(arguments: [
        "", "{}", "[]", "null", #"{"changes":[]}"#, #"{"changes":5,"last_seq":1}"#, "LAST_SEQ:", "LAST_SEQ:x",
    ])
    func otherAnswersAreUnreadable(text: String) {
        #expect(read(text) == nil)
    }

    @Test func entriesThatAreNoneAreLeftOut() {
        let feed = read(#"{"changes":[5,{},{"seq":1,"type":"other"},{"seq":2,"type":"create"}],"last_seq":2}"#)
        #expect(feed?.changes.map(\.sequence) == [2])
    }
}
