import Foundation
import PydioProtocol
import Testing

struct SyncNamesTests {
    @Test(arguments: [
        ("plan.txt", "plan (conflict d).txt"), ("d/plan", "d/plan (conflict d)"), (".rc", ".rc (conflict d)"),
        ("a.tar.gz", "a.tar (conflict d).gz"),
    ])
    func conflictsAreNamedForPeople(path: String, expected: String) {
        #expect(SyncNames.conflict(SyncPath(path), "d") { _ in false } == SyncPath(expected))
    }

    @Test func aTakenNameGetsANumber() {
        let taken: Set = [SyncPath("a (conflict d).b"), SyncPath("a (conflict d 2).b")]
        #expect(SyncNames.conflict(SyncPath("a.b"), "d") { taken.contains($0) } == SyncPath("a (conflict d 3).b"))
    }

    @Test func aLongNameStaysAFileName() {
        let name = SyncNames.conflict(SyncPath(String(repeating: "日", count: 80) + ".txt"), "2026-11-24") { _ in false }
        #expect(name.name.utf8.count <= 240 && name.name.hasSuffix(" (conflict 2026-11-24).txt"))
    }

    @Test func temporaryNamesAreRecognised() {
        let upload = SyncUpload(to: SyncPath("d/a.txt"), random: "0123456789abcdef")
        #expect(upload.id == "pydio-sync-0123456789ab" && upload.old == "a.txt.pydio-sync-0123456789ab.old")
        for name in [upload.whole, upload.part, upload.old] { #expect(SyncUpload.isTemporary(name), "\(name)") }
        #expect(SyncUpload.isOld(upload.old, of: "a.txt") && !SyncUpload.isOld(upload.old, of: "a.tx"))
        let long = String(repeating: "long ", count: 20)
        #expect(SyncUpload.isOld(SyncUpload(to: SyncPath(long), random: "0123456789abcdef").old, of: long))
        for name in [
            "a.upload", "pydio-sync-0123456789ab", "pydio-sync-0123456789ag.upload", "a.pydio-sync-0123456789ab.part",
            "pydio-sync-0123456789ab.old", "",
        ] {
            #expect(!SyncUpload.isTemporary(name), "\(name)")
        }
    }

    @Test func pathsAreComparedByBytes() {
        #expect(SyncPath("\u{E9}") != SyncPath("e\u{301}"))
        #expect(Set([SyncPath("\u{E9}"), SyncPath("e\u{301}")]).count == 2)
        #expect(SyncPath("a/b").isWithin(SyncPath("a")) && !SyncPath("ab").isWithin(SyncPath("a")))
        #expect(SyncPath("a/\u{301}b").parent == SyncPath("a") && SyncPath("a/\u{301}b").name == "\u{301}b")
    }

    @Test(arguments: [
        ("/", "/a/b", "a/b"), ("/d", "/d/a", "a"), ("/d", "/d", ""), ("/d", "/d/", ""), ("/", "/", ""), ("/", "", ""),
    ])
    func pathsOfTheServerAreSeenFromTheFolder(folder: String, path: String, expected: String) {
        #expect(SyncPath(remote: path, below: folder) == SyncPath(expected))
        #expect(SyncPath(expected).remote(below: folder) == (path == "/d/" ? "/d" : path.isEmpty ? "/" : path))
    }

    @Test(arguments: ["/dd", "/e", "", "/"])
    func othersAreNotInTheFolder(path: String) {
        #expect(SyncPath(remote: path, below: "/d") == nil)
    }

    // MARK: The log of changes

    private static func change(
        _ kind: PydioLoggedChange.Kind, _ source: String?, _ target: String?, md5: String? = nil
    ) -> PydioLoggedChange {
        PydioLoggedChange(
            sequence: 1, nodeId: 1, kind: kind, source: source, target: target,
            node: target.map {
                .init(size: 3, md5: md5, mTime: Date(timeIntervalSince1970: 9), path: $0, isFolder: md5 == nil)
            })
    }

    @Test func onlyWhatHasChangedIsListedAgain() {
        let changes = SyncFeedChanges(
            [
                Self.change(.content, "/d/e/a", "/d/e/a", md5: "AB"), Self.change(.create, nil, "/d/n"),
                Self.change(.delete, "/d/x/y", nil), Self.change(.create, nil, "/other"),
            ], below: "/d")
        #expect(changes.folders == [.root, SyncPath("e"), SyncPath("x")] && !changes.isOfWhole)
        let tree: [SyncPath: SyncNode] = [
            SyncPath("e"): .folder, SyncPath("e/a"): .folder, SyncPath("f/b"): .folder, SyncPath("n/old"): .folder,
        ]
        #expect(Set(changes.remains(of: tree).keys) == [SyncPath("f/b")])
        let version = SyncVersion(size: 3, modified: 9)
        #expect(changes.hashed(version, at: SyncPath("e/a"), before: nil).md5 == "ab")
        #expect(changes.hashed(SyncVersion(size: 4, modified: 9), at: SyncPath("e/a"), before: nil).md5 == nil)
        let before = SyncNode.file(SyncVersion(size: 3, modified: 9, md5: "old"))
        #expect(changes.hashed(version, at: SyncPath("e/b"), before: before).md5 == "old")
    }

    /// The log may omit the folder.
    @Test func whereAFolderIsUnknownTheOneAboveIsListed() {
        let changes = SyncFeedChanges(
            [Self.change(.create, nil, "/k/u/v/a")], below: "/", doubting: [SyncPath("q/x")],
            known: [SyncPath("k"): .folder, SyncPath("q"): .folder, SyncPath("q/x"): .folder])
        #expect(changes.folders.map(\.text) == ["k", "k/u/v", "q"])
        #expect(changes.remains(of: [SyncPath("q/x/y"): .folder, SyncPath("z"): .folder]).keys.map(\.text) == ["z"])
    }

    @Test(arguments: [("/d", "/d/e"), ("/d/e", "/d/e")])
    func aMoveOfTheFolderItselfIsAChangeOfEverything(moved: String, folder: String) {
        #expect(SyncFeedChanges([Self.change(.path, moved, "/z")], below: folder).isOfWhole)
        #expect(!SyncFeedChanges([Self.change(.content, moved, moved)], below: folder).isOfWhole)
    }
}
