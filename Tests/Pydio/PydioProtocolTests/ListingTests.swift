import Foundation
import PydioProtocol
import Testing
import Transport

/// Sections 6.1, 6.2 and 7 of the protocol's notes.
struct ListingTests {
    private func read<Value>(
        _ recogniser: AnswerRecogniser<Value>, _ body: String, type: String = "text/xml"
    ) throws -> Value {
        let response = HTTPResponse(status: 200, fields: ["Content-Type": type], body: Array(body.utf8))
        guard case .value(let value) = recogniser.read(response) else { throw PydioError(.unableToParseAnswer, body) }
        return value
    }

    @Test func aFolderIsOneRootWithChildren() throws {
        let nodes = try read(
            .listing,
            """
            <?xml version="1.0" encoding="UTF-8"?><tree repo_has_recycle="true" is_file="false" filename="" text=""
              ajxp_mime="ajxp_folder" ajxp_modiftime="1700000000" bytesize="0" filesize="0 b">
             <pagination count="700" total="4" current="2" overflowMessage="1/4" dirsCount="3"/><strange/>
             <tree is_file="false" text="Notes" filename="/Notes" ajxp_has_children="true" ajxp_modiftime="1700000100.5"/>
             <tree is_file="true" text="plan é.txt" filename="/plan é.txt" ajxp_modiftime="1700000200"
               bytesize="5000000000" ajxp_bookmarked="true" filesize="4,66 Gb"/>
             <tree is_file="false" text="Recycle Bin" filename="/recycle_bin" ajxp_mime="ajxp_recycle" bytesize="x"/>
            </tree>
            """)
        let root = try #require(nodes.first)
        #expect(nodes.count == 1 && root.path.isEmpty && root.fullPath == "/")
        #expect(root.pagination == NodePagination(count: 700, total: 4, current: 2))
        let children = try #require(root.children)
        #expect(children.map(\.name) == ["Notes", "plan é.txt", "Recycle Bin"])
        #expect(children.map(\.isLeaf) == [false, true, false])
        #expect(children.map(\.size) == [0, 5_000_000_000, 0])
        #expect(children[0].mTime == Date(timeIntervalSince1970: 1_700_000_100.5) && children[0].hasUnlistedChildren)
        #expect(children[1].isBookmarked && children[1].attributes["filesize"] == "4,66 Gb")
        #expect(children[2].isRecycleBin && children[2].mTime == nil && children.allSatisfy { $0.parent === root })
    }

    @Test func recursiveListingsAreNested() throws {
        let nodes = try read(
            .listing,
            #"<tree filename=""><tree filename="/a"><tree filename="/a/b" is_file="true"/></tree></tree>"#)
        #expect(nodes.first?.children?.first?.children?.first?.fullPath == "/a/b")
    }

    @Test func workspacesAreRead() throws {
        let workspaces = try read(
            .workspaces,
            """
            <ajxp_registry_part xPath="user/repositories" ><repositories>
             <repo access_type="fs" id="0" repositorySlug="plans"><label>Plans</label><description>Drawings &amp; notes</description>
              <client_settings><resources><label>no</label></resources></client_settings></repo>
             <repo access_type="ajxp_user" id="ajxp_user" repositorySlug="d"><label>Dashboard</label></repo>
             <repo id="6f0c" owner="Ada"/><repo/><other id="1"/></repositories></ajxp_registry_part>
            """)
        #expect(workspaces.map(\.workspaceId) == ["0", "ajxp_user", "6f0c"])
        #expect(workspaces.map(\.label) == ["Plans", "Dashboard", nil])
        #expect(workspaces[0].description == "Drawings & notes" && workspaces[0].slug == "plans")
        #expect(workspaces.map(\.isFileStore) == [true, false, true] && workspaces[2].owner == "Ada")
    }

    @Test func propertiesOfNodesAreNumbersOrTexts() throws {
        let type = "application/json"
        let stat = try read(.stat, #"{"7":42,"size":"42","mtime":1700000000,"mode":33188}"#, type: type)
        #expect(stat == PydioNodeStat(size: 42, mTime: Date(timeIntervalSince1970: 1_700_000_000), mode: 33188))
        #expect(try read(.stat, #"{"size":4096,"mtime":"1","mode":16877}"#, type: type)?.isFolder == true)
        #expect(try read(.stat, "{}", type: type) == nil)
        #expect(try read(.stat, "[]", type: type) == nil)
        #expect(throws: PydioError.self) { try read(.stat, #"{"a":1}"#, type: type) }
    }

    @Test func bookmarksAreRead() throws {
        let bookmarks = try read(.bookmarks, #"<tree ><bookmark path="/a" title="A"/><bookmark/></tree>"#)
        #expect(bookmarks == [PydioBookmark(path: "/a", title: "A")])
    }

    @Test func refusedContentsAreErrors() {
        for text in ["1001", "1002"] {
            let response = HTTPResponse(status: 200, fields: ["Content-Type": "text/plain"], body: Array(text.utf8))
            guard case .serverError = AnswerRecogniser.putContent.read(response) else {
                Issue.record("\(text) is an error")
                continue
            }
        }
    }
}
