import Foundation
import TestSupport
import Testing

/// What fuzzing starts from, and every input that once broke a claim.
struct CorpusTests {
    @Test(arguments: FuzzTarget.allCases)
    func claimsHoldForTheCorpus(target: FuzzTarget) throws {
        let files = try Fixtures.files("fuzz/\(target.rawValue)")
        #expect(!files.isEmpty)
        for file in files {
            #expect(throws: Never.self, "\(target.rawValue)/\(file.lastPathComponent)") {
                try target.run(Array(try Data(contentsOf: file)))
            }
        }
    }
}
