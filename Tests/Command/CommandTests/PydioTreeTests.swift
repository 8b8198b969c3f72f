import Basics
import Foundation
import PydioTestSupport
import TestSupport
import Testing

@testable import CommandKit
@testable import PydioCommands

/// Random trees are uploaded, copied, moved and downloaded. The result is identical byte for byte, except for entries
/// refused by name, and nothing else on the server changes.
@Suite(.overSockets)
struct PydioTreeTests {
    /// Characters that servers omit or trim, that become equal only by that, or that have a meaning in addresses,
    /// documents and terminals, and harmless ones.
    private static let pieces = [
        "a", "b", "B", "é", "e\u{301}", "\u{301}", "日本", "😀", ".", "-", "1", ".txt", "\"", "|", "?", "\\", " ", "\t",
        "\n", "\r",
        "\u{B}", "#", "%23", "%", "%2F", "+", "&", "&amp;", "&#65;", "<", ">", "'", ":", "*", "=", "[]", "\u{202E}",
        "\u{1B}[31m", "\u{1}", "\u{7F}", "$(x)", "`", ";", "~", "{}",
    ]

    private struct Tree {
        var files: [String: [UInt8]] = [:]
        var folders: [String] = []
        var links: [String] = []

        var count: Int { files.count + folders.count + links.count }
    }

    /// Creates 200 local entries in folders of 0 to 3 levels.
    private static func makeTree(in root: URL, seed: UInt64) throws -> Tree {
        var random = XorShift(seed: seed)
        var tree = Tree()
        var folders: [(url: URL, level: Int)] = [(root, 0)]
        while tree.count < 200 {
            let (folder, level) = folders[Int.random(in: folders.indices, using: &random)]
            let name = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                pieces[Int.random(in: pieces.indices, using: &random)]
            }.joined()
            let url = folder.appending(path: name, directoryHint: .notDirectory)
            guard name != ".", name != "..", LocalNode(url) == nil else { continue }
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                guard symlink("/etc/hostname", url.path) == 0 else { continue }
                tree.links.append(url.path)
            case 1...2 where level < 3:
                guard mkdir(url.path, 0o755) == 0 else { continue }
                folders.append((url, level + 1))
                tree.folders.append(url.path)
            case 3:
                try Data().write(to: url)
                tree.files[url.path] = []
            case _:
                let content = (0..<Int.random(in: 1...3000, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                try Data(content).write(to: url)
                tree.files[url.path] = content
            }
        }
        return tree
    }

    /// Whether an error names the path or one of its folders.
    private static func isRefused(_ path: String, below root: String, by errors: String) -> Bool {
        var path = path
        while path.utf8.count > root.utf8.count {
            if errors.contains(TerminalText(path).text) { return true }
            path = String(Substring(path.utf8[..<(path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.utf8.startIndex)]))
        }
        return false
    }

    private static func contents(_ server: FakePydioServer, below top: String, in workspace: String = "0") -> [String:
        String]
    {
        Dictionary(
            uniqueKeysWithValues: server.paths(in: workspace).filter { $0.hasPrefix(top + "/") }.map {
                (String($0.dropFirst(top.count)), server.md5(of: $0, in: workspace) ?? "folder")
            })
    }

    @Test(arguments: FakePydioMode.allCases, [1, 2, 3] as [UInt64])
    func whatComesBackIsWhatWasSent_orWasRefusedByName(mode: FakePydioMode, seed: UInt64) async throws {
        let scene = try await PydioScene(FakePydioServer.Configuration(mode: mode))
        let (server, team) = (scene.server, FakePydioWorkspace.teamID)
        for name in ["/theirs/a", "/theirs/up/b", "/u\"p", "/zip.zip"] { try server.addFile(name, Array(name.utf8)) }
        try server.addFile("/c", Array("c".utf8), in: team)
        let others = Self.contents(server, below: "")
        let source = scene.local("source")
        try FileManager.default.createDirectory(at: source, withIntermediateDirectories: true)
        let tree = try Self.makeTree(in: source, seed: seed)

        // Upload.
        let put = try await scene.pydio("put", "--recursive", "--json", source.path, "plans:/up")
        #expect(put.status == 65)  // because of the links
        var arrived: [String: String] = [:]
        for record in put.run.objects where record["type"] as? String == "uploaded" {
            arrived[try #require(record["file"] as? String)] = try #require(record["path"] as? String)
        }
        let errors = put.run.errors.joined(separator: "\n")
        for (file, content) in tree.files {
            if let path = arrived[file] {
                let isSame = server.contents(of: path) == content
                #expect(isSame, "\(TerminalText(file).text)")
            } else {
                let isRefused = Self.isRefused(file, below: source.path, by: errors)
                #expect(isRefused, "\(TerminalText(file).text)")
            }
        }
        #expect(tree.links.allSatisfy { Self.isRefused($0, below: source.path, by: errors) })
        #expect(Set(arrived.values).count == arrived.count)  // no two have been merged
        let up = Self.contents(server, below: "/up")
        #expect(up.count { $0.value != "folder" } == arrived.count)
        #expect(arrived.count > 20)

        // Copy, move, and copy to another workspace.
        #expect(try await scene.pydio("cp", "plans:/up", "plans:/copy").status == 0)
        #expect(Self.contents(server, below: "/copy") == up && Self.contents(server, below: "/up") == up)
        #expect(try await scene.pydio("mv", "plans:/copy", "plans:/theirs/moved").status == 0)
        #expect(Self.contents(server, below: "/theirs/moved") == up && !server.exists("/copy"))
        #expect(try await scene.pydio("cp", "plans:/up", "team:/cross").status == 0)
        #expect(Self.contents(server, below: "/cross", in: team) == up)

        // Download.
        let back = scene.local("back")
        let get = try await scene.pydio("get", "--recursive", "plans:/theirs/moved", back.path)
        let missed = get.run.errors.joined(separator: "\n")
        #expect(get.status == (missed.isEmpty ? 0 : 65))
        for path in arrived.values {
            let place = String(path.dropFirst("/up".count))
            if let content = try? Data(contentsOf: URL(filePath: back.path + place)) {
                let isSame = server.contents(of: path).map { Data($0) } == content
                #expect(isSame, "\(TerminalText(place).text)")
            } else {
                let remote = "plans:/theirs/moved"
                let isRefused = Self.isRefused(remote + place, below: remote, by: missed)
                #expect(isRefused, "\(TerminalText(place).text)")
            }
        }

        // Nothing else changes.
        let own = ["/up", "/theirs/moved"]
        let rest = Self.contents(server, below: "").filter { entry in
            !own.contains { entry.key == $0 || entry.key.hasPrefix($0 + "/") }
        }
        #expect(rest.filter { !$0.key.hasPrefix("/recycle_bin") } == others)
        #expect(server.contents(of: "/c", in: team) == Array("c".utf8))
    }
}
