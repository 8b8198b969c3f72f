import Foundation
import PydioProtocol
import Testing

struct NodeResponseTests {
    @Test func aFullPathBeginsAtTheRoot() {
        let leaf = NodeResponse(name: "b", isLeaf: true, path: "b")
        let folder = NodeResponse(name: "a", isLeaf: false, path: "/a", children: [leaf])
        let root = NodeResponse(name: "", isLeaf: false, path: "", children: [folder])
        #expect([root, folder, leaf].map(\.fullPath) == ["/", "/a", "/a/b"])
        #expect(leaf.parent === folder && folder.parent === root && root.parent == nil)
    }

    @Test func treesAreEqualByValuesAndOrder() {
        func make(_ names: [String], size: Int64 = 1) -> NodeResponse {
            let children = names.map { NodeResponse(name: $0, isLeaf: true, path: "/" + $0, size: size) }
            return NodeResponse(name: "", isLeaf: false, path: "", children: children)
        }
        #expect(make(["a", "b"]) == make(["a", "b"]))
        #expect(make(["a", "b"]) != make(["b", "a"]) && make(["a"]) != make(["a"], size: 2))
        #expect(make(["a"]).isValuesEqual(make(["b"])) && !make(["a"]).isTreeEqual(make([])))
    }
}
