import Foundation
import Testing

@testable import EventRelay

@Suite struct StandstillRecordTests {
    private let start = Date(timeIntervalSince1970: 1_000_000)

    private func at(_ seconds: Double) -> Date { start.addingTimeInterval(seconds) }

    @Test func whatIsReadAfterAStandstill_mayHaveComeAtItsBeginning() {
        var record = StandstillRecord(at: start)
        record.tick(at: at(0.5))
        record.tick(at: at(10.5))
        #expect(record.earliestReceipt(ofReadAt: at(10.6)) == at(0.5))
        #expect(record.earliestReceipt(ofReadAt: at(11.6)) == at(11.6))
        #expect(record.earliestReceipt(ofReadAt: at(0.4)) == at(0.4))
    }

    @Test func ticksThatAreALittleLate_areNoStandstill() {
        var record = StandstillRecord(at: start)
        for count in 1...100 { record.tick(at: at(Double(count))) }
        #expect(record.earliestReceipt(ofReadAt: at(50.7)) == at(50.7))
    }

    @Test func eachOfSeveralStandstillsIsKnown() {
        var record = StandstillRecord(at: start)
        record.tick(at: at(5))
        record.tick(at: at(5.5))
        record.tick(at: at(20))
        #expect(record.earliestReceipt(ofReadAt: at(5.1)) == at(0))
        #expect(record.earliestReceipt(ofReadAt: at(20.1)) == at(5.5))
    }
}
