import Testing

@testable import MatrixEncryption

/// Changes of a step on top of the stored records.
@Suite struct RecordsTests {
    private let store = MemoryRecords()

    private func texts(_ records: inout Records, _ scope: String) throws -> [String] {
        try records.values(SettingRecord.self, scope: scope).map { "\($0.key)=\($0.value.text)" }
    }

    @Test func changesOfAScopeAreSeenInIt() throws {
        var stored = Records(store)
        for key in ["a", "b", "c"] { stored.set(SettingRecord("old"), scope: "s", key: key) }
        store.commit(stored.changes)
        var records = Records(store)
        records.set(SettingRecord("new"), scope: "s", key: "b")
        records.set(SettingRecord("new"), scope: "s", key: "bb")
        records.set(SettingRecord("other"), scope: "t", key: "a")
        records.remove(.setting, scope: "s", key: "c")
        #expect(try texts(&records, "s") == ["a=old", "b=new", "bb=new"])
        try records.removeAll(.setting, scope: "s")
        #expect(try texts(&records, "s").isEmpty && texts(&records, "t") == ["a=other"])
        records.set(SettingRecord("again"), scope: "s", key: "c")
        store.commit(records.changes)
        var later = Records(store)
        #expect(try texts(&later, "s") == ["c=again"])
    }

    /// A step that receives fifty thousand keys reads fifty thousand scopes.
    @Test func aLookIntoAScopeCostsNothingForWhatElseHasChanged() throws {
        func time(_ changes: Int) throws -> Duration {
            var records = Records(store)
            for number in 0..<changes { records.set(SettingRecord("x"), scope: "\(number)", key: "a") }
            return try ContinuousClock().measure {
                for number in 0..<200 { _ = try texts(&records, "\(number % changes)") }
            }
        }
        _ = try time(100)  // excludes the cost of the first call
        let (few, many) = (try time(100), try time(50_000))
        #expect(many < few * 20, "\(few), then \(many)")
    }
}
