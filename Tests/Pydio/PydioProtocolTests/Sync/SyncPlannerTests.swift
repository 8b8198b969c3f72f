import PydioProtocol
import Testing

/// The plan for each combination of both sides and their record.
struct SyncPlannerTests {
    private static func file(_ stamp: Int64) -> SyncNode { .file(SyncVersion(size: 1, modified: stamp)) }
    private static let record = SyncRecord.file(
        local: SyncVersion(size: 1, modified: 1), remote: SyncVersion(size: 1, modified: 1), md5: "m")

    /// A side before a path is examined: `-` nothing, `=` a file as recorded, `!` a new or changed file, `/` a folder.
    private static func node(_ sign: Character) -> SyncNode? {
        switch sign {
        case "=": file(1)
        case "!": file(2)
        case "/": .folder
        case _: nil
        }
    }

    private static func record(_ sign: Character) -> SyncRecord? {
        switch sign {
        case "f": record
        case "/": .folder
        case _: nil
        }
    }

    /// The plan as text: `upload a`.
    private static func words(_ plan: SyncPlan) -> [String] {
        plan.steps.map { step in
            "\(step.kind) \(step.path)" + (step.newPath.map { " → \($0)" } ?? "")
        } + plan.adopted.keys.sorted().map { "adopt \($0)" } + plan.forgotten.map { "forget \($0)" }
    }

    private static func plan(
        _ text: String, _ direction: PydioSyncDirection = .both
    ) -> SyncPlan {
        let signs = Array(text)
        var input = SyncInput()
        input.local[SyncPath("a")] = node(signs[0])
        input.remote[SyncPath("a")] = node(signs[1])
        input.records[SyncPath("a")] = record(signs[2])
        input.direction = direction
        return SyncPlan(input)
    }

    /// Local, remote, record.
    @Test(arguments: [
        ("--f", ["forget a"]), ("--/", ["forget a"]), ("==f", []), ("=!f", ["download a"]), ("!=f", ["upload a"]),
        ("!!f", ["compare a"]), ("!!-", ["compare a"]), ("=-f", ["deleteLocal a"]), ("-=f", ["deleteRemote a"]),
        ("!-f", ["upload a"]), ("-!f", ["download a"]), ("!--", ["upload a"]), ("-!-", ["download a"]),
        ("//-", ["adopt a"]), ("///", []), ("/--", ["makeRemoteFolder a"]), ("-/-", ["makeLocalFolder a"]),
        ("/-/", ["deleteLocal a"]), ("-//", ["deleteRemote a"]),
        ("=/f", ["deleteLocal a", "makeLocalFolder a"]), ("/=f", ["deleteRemote a", "makeRemoteFolder a"]),
        ("!/f", ["keepBoth a → a (conflict 1)"]), ("/!f", ["keepBoth a → a (conflict 1)"]),
        ("!//", ["deleteRemote a", "upload a"]), ("/!/", ["deleteLocal a", "download a"]),
        ("!/-", ["keepBoth a → a (conflict 1)"]), ("/!-", ["keepBoth a → a (conflict 1)"]),
    ])
    func changesBeatDeletions_andBothAreKept(state: String, steps: [String]) {
        #expect(Self.words(Self.plan(state)) == steps)
    }

    @Test(arguments: [
        ("=!f", []), ("!=f", ["upload a"]), ("!!f", ["compare a"]), ("=-f", []), ("-=f", ["deleteRemote a"]),
        ("-!-", []), ("-/-", []), ("/-/", []), ("!--", ["upload a"]), ("=/f", []),
        ("/=f", ["deleteRemote a", "makeRemoteFolder a"]),
    ])
    func upChangesTheServerAlone(state: String, steps: [String]) {
        #expect(Self.words(Self.plan(state, .up)) == steps)
    }

    @Test(arguments: [
        ("=!f", ["download a"]), ("!=f", []), ("!!f", ["compare a"]), ("=-f", ["deleteLocal a"]), ("-=f", []),
        ("!--", []), ("/--", []), ("-//", []), ("-!-", ["download a"]), ("/=f", []),
        ("=/f", ["deleteLocal a", "makeLocalFolder a"]), ("!/f", ["keepBoth a → a (conflict 1)"]),
    ])
    func downChangesTheLocalFolderAlone(state: String, steps: [String]) {
        #expect(Self.words(Self.plan(state, .down)) == steps)
    }

    @Test func aConflictThatUpCannotResolveIsTold() {
        let plan = Self.plan("!/f", .up)
        #expect(plan.steps.isEmpty && plan.refused.map(\.path) == ["a"])
    }

    // MARK: Folders

    private static func input(
        local: [String: SyncNode], remote: [String: SyncNode], records: [String: SyncRecord] = [:]
    ) -> SyncInput {
        func keyed<Value>(_ values: [String: Value]) -> [SyncPath: Value] {
            Dictionary(uniqueKeysWithValues: values.map { (SyncPath($0.key), $0.value) })
        }
        return SyncInput(local: keyed(local), remote: keyed(remote), records: keyed(records))
    }

    private static let recordedFolder: [String: SyncRecord] = ["d": .folder, "d/x": record, "d/e": .folder]

    @Test func aFolderIsDeletedAsAWhole() {
        let plan = SyncPlan(
            Self.input(
                local: [:], remote: ["d": .folder, "d/x": Self.file(1), "d/e": .folder, "k": Self.file(1)],
                records: Self.recordedFolder.merging(["k": Self.record]) { $1 }))
        #expect(Self.words(plan) == ["deleteRemote d", "deleteRemote k"])
        #expect(Set(plan.steps.first?.contents.keys.map(\.text) ?? []) == ["d", "d/x", "d/e"])
    }

    @Test func aFolderWithAChangeInItStays() {
        let plan = SyncPlan(
            Self.input(
                local: [:], remote: ["d": .folder, "d/x": Self.file(2), "d/e": .folder], records: Self.recordedFolder))
        #expect(Self.words(plan) == ["deleteRemote d/e", "makeLocalFolder d", "download d/x"])
    }

    @Test(arguments: ["d/x", "d/e", "d/e/other"])
    func aFolderWithSomethingInItThatIsLeftOutStays(excluded: String) {
        var input = Self.input(
            local: ["d": .folder, "d/x": Self.file(1), "d/e": .folder], remote: [:], records: Self.recordedFolder)
        input.excluded = [SyncPath(excluded)]
        let plan = SyncPlan(input)
        #expect(plan.steps.contains { $0.kind == .makeRemoteFolder && $0.path == "d" })
        #expect(!plan.steps.contains { SyncPath($0.path).isWithin(SyncPath(excluded)) })
    }

    @Test func whatCouldNotBeListedIsNotTakenForDeleted() {
        var input = Self.input(
            local: ["d": .folder, "d/x": Self.file(1), "d/e": .folder], remote: ["d": .folder],
            records: Self.recordedFolder)
        input.excluded = [SyncPath("d")]
        #expect(SyncPlan(input) == SyncPlan())
    }

    @Test func foldersComeBeforeWhatIsInThem_andDeletionsBeforeWhatTakesTheirNames() {
        let plan = SyncPlan(
            Self.input(
                local: ["n": .folder, "n/a": Self.file(2), "n-b": Self.file(2), "old": .folder, "old/y": Self.file(2)],
                remote: ["old": Self.file(1)], records: ["old": Self.record]))
        #expect(
            Self.words(plan) == [
                "deleteRemote old", "makeRemoteFolder n", "upload n-b", "upload n/a", "makeRemoteFolder old",
                "upload old/y",
            ])
    }

    // MARK: Guards

    @Test func theLossOfEverythingIsNoticed() {
        let all = ["a": Self.file(1), "b": Self.file(1)]
        let records = ["a": Self.record, "b": Self.record]
        #expect(SyncPlan(Self.input(local: [:], remote: all, records: records)).emptySide == .local)
        #expect(SyncPlan(Self.input(local: all, remote: [:], records: records)).emptySide == .remote)
        #expect(SyncPlan(Self.input(local: ["a": Self.file(1)], remote: all, records: records)).emptySide == nil)
        #expect(SyncPlan(Self.input(local: [:], remote: [:], records: records)).emptySide == nil)
        #expect(SyncPlan(Self.input(local: all, remote: [:])).emptySide == nil)
    }

    /// The local folder contains the sync's state, so it is not missing. A workspace may have been replaced by another.
    @Test func theOnlyFileGetsAnotherNameHere_butNotOnTheServer() {
        let (old, new) = (["a": Self.file(1)], ["b": Self.file(2)])
        let here = SyncPlan(Self.input(local: new, remote: old, records: ["a": Self.record]))
        #expect(here.emptySide == nil && Self.words(here) == ["deleteRemote a", "upload b"])
        #expect(SyncPlan(Self.input(local: old, remote: new, records: ["a": Self.record])).emptySide == .remote)
        let hidden = [".b": Self.file(2)]
        #expect(SyncPlan(Self.input(local: hidden, remote: old, records: ["a": Self.record])).emptySide == .local)
    }

    @Test(arguments: [
        ".hidden", "qu\"ote", "a|b", "a?", "back\\slash", " a", "a ", "a&amp;b", "pydio-sync-0123456789ab.upload",
        "recycle_bin", "page%23",
    ])
    func namesThatServersDoNotTakeAreRefused_andTheRestGoesOn(name: String) {
        var input = Self.input(
            local: [name: .folder, name + "/x": Self.file(2), "good": Self.file(2)], remote: [:])
        input.isWorkspaceTop = true
        let plan = SyncPlan(input)
        #expect(Self.words(plan) == ["upload good"])
        #expect(plan.refused.map(\.path) == [name])
    }

    @Test func twoSpellingsOfANameAreTwoNames() {
        let plan = SyncPlan(
            Self.input(local: ["e\u{301}": Self.file(2), "b": Self.file(2)], remote: ["\u{E9}": Self.file(2)]))
        #expect(plan.steps.map { Array($0.path.utf8) } == [Array("b".utf8), [0x65, 0xCC, 0x81], [0xC3, 0xA9]])
        #expect(plan.steps.map(\.kind) == [.upload, .upload, .download] && plan.refused.isEmpty)
    }

    @Test func unfinishedUploadsOfOthersAreLeftAlone() {
        let plan = SyncPlan(
            Self.input(
                local: [:],
                remote: [
                    "pydio-sync-0123456789ab.upload": Self.file(2), "a.txt.pydio-sync-0123456789ab.old": Self.file(2),
                    "pydio-sync-0123456789ab.part": Self.file(2), "other.upload": Self.file(2),
                ]))
        #expect(Self.words(plan) == ["download other.upload"] && plan.refused.isEmpty)
    }

    @Test func aFileThatAnotherSyncIsReplacingIsNotTakenForDeleted() {
        let old = "a.txt.pydio-sync-0123456789ab.old"
        var input = Self.input(
            local: ["a.txt": Self.file(1), "b": Self.file(1)], remote: [old: Self.file(1), "b": Self.file(1)],
            records: ["a.txt": Self.record, "b": Self.record])
        #expect(SyncPlan(input).steps.isEmpty && SyncPlan(input).refused.map(\.path) == ["a.txt"])
        input.remote[SyncPath("a.txt")] = Self.file(2)
        #expect(Self.words(SyncPlan(input)) == ["download a.txt"])
    }

    // MARK: Versions

    @Test func aFileWithTheRecordedContentHasNotChanged() {
        var input = Self.input(local: [:], remote: ["a": Self.file(1)], records: ["a": Self.record])
        input.local[SyncPath("a")] = .file(SyncVersion(size: 1, modified: 9, md5: "m"))
        let plan = SyncPlan(input)
        #expect(Self.words(plan) == ["adopt a"])
        #expect(
            plan.adopted[SyncPath("a")]
                == .file(
                    local: SyncVersion(size: 1, modified: 9, md5: "m"), remote: SyncVersion(size: 1, modified: 1),
                    md5: "m"))
    }

    @Test func aHashFromTheLogShowsAChangeThatTheTimeDoesNot() {
        var input = Self.input(local: ["a": Self.file(1)], remote: [:], records: ["a": Self.record])
        input.remote[SyncPath("a")] = .file(SyncVersion(size: 1, modified: 1, md5: "n"))
        #expect(Self.words(SyncPlan(input)) == ["download a"])
    }

    /// A server may report an outdated one forever.
    @Test func aWrongHashThatWasMetBeforeIsNoChange() {
        var input = Self.input(local: ["a": Self.file(1)], remote: [:])
        let version = SyncVersion(size: 1, modified: 1, md5: "outdated")
        input.remote[SyncPath("a")] = .file(version)
        input.records[SyncPath("a")] = .file(local: SyncVersion(size: 1, modified: 1), remote: version, md5: "m")
        #expect(SyncPlan(input) == SyncPlan())
    }
}
