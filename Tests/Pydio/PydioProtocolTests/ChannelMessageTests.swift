import Foundation
import PydioProtocol
import Testing
import Transport

/// Section 8.3 of the protocol's notes.
struct ChannelMessageTests {
    private func messages(_ text: String) throws -> [ChannelMessage]? {
        ChannelMessage.list(in: try XMLReader.read(Array(text.utf8)))
    }

    @Test func changesComeInOrder() throws {
        let all = try #require(
            try messages(
                """
                <tree ><nodes_diff><add><tree is_file="true" filename="/a/n.txt" text="n.txt" bytesize="5"/></add></nodes_diff>
                <nodes_diff><update><tree filename="/a/m.txt" original_path="/a/n.txt"/></update>
                <remove><tree filename="/x" ajxp_im_time="1700000000"/><tree/></remove></nodes_diff></tree>
                """))
        guard all.count == 2, case .nodesDiff(let first) = all[0], case .nodesDiff(let second) = all[1] else {
            Issue.record("\(all)")
            return
        }
        #expect(first.added.map(\.fullPath) == ["/a/n.txt"] && first.added.first?.size == 5)
        #expect(second.updated.first?.originalPath == "/a/n.txt" && second.removed == ["/x"])
        #expect(second.changes.last == .removed(path: "/x", time: Date(timeIntervalSince1970: 1_700_000_000)))
    }

    @Test func otherMessagesAreTold() throws {
        let all = try messages(
            """
            <tree><reload_bookmarks/><reload_instruction object="repository_list"/>
            <reload_instruction object="data" node="/a" file="b"/><require_registry_reload repositoryId="1"/>
            <consume_channel/><task id="7">half &amp; half</task></tree>
            """)
        #expect(
            all == [
                .reloadBookmarks, .reloadWorkspaces, .reload(object: "data", node: "/a", file: "b"),
                .requireRegistryReload(workspaceId: "1"), .consumeChannel,
                .other(xml: #"<task id="7">half &amp; half</task>"#),
            ])
    }

    @Test func aMessageMayStandAlone() throws {
        #expect(try messages("<reload_bookmarks/>") == [.reloadBookmarks])
        #expect(try messages("<html/>") == nil)
    }

    @Test func emptyAnswersAreNoMessages() {
        for (type, body) in [("text/html", ""), ("text/xml", "<tree ></tree>")] {
            let response = HTTPResponse(status: 200, fields: ["Content-Type": type], body: Array(body.utf8))
            guard case .value(let messages) = AnswerRecogniser.messages.read(response) else {
                Issue.record("\(type) is an answer")
                continue
            }
            #expect(messages.isEmpty)
        }
    }
}
