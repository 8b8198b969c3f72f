import Foundation
import RelayProtocol
import RelayTestSupport
import TestSupport
import Testing

@testable import EventRelay

struct DeadHeartbeatTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func records(_ ages: [TimeInterval]) -> RelayRecords {
        var records = RelayRecords()
        records.beats = ages.enumerated().map { index, age in
            RelayRecords.Beat(
                relay: RelayID(name: "r\(index)", random: 1), heartbeat: Heartbeat(incarnation: 1, number: 1),
                time: Self.now - age, subject: "$KV.RELAY.h.r\(index)", revision: UInt64(index + 1))
        }
        return records
    }

    @Test func whatIsAnHourOlderThanTheNewestIsDead() {
        #expect(records([0, 3599, 3601, 90_000]).deadHeartbeats.map(\.revision) == [3, 4])
    }

    /// Only the servers' clock counts: these may all be new.
    @Test func withoutANewerOneNothingIsDead() {
        #expect(records([90_000, 90_001]).deadHeartbeats.isEmpty)
        #expect(records([]).deadHeartbeats.isEmpty)
    }

    @Test func whoOwnsASlotIsKept() throws {
        var records = records([0, 90_000])
        let owner = SlotRecord(owner: RelayID(name: "r1", random: 1), incarnation: 1, term: 1)
        records.slots = [(try #require(Slot(5)), owner, Self.now)]
        #expect(records.deadHeartbeats.isEmpty)
    }
}

@Suite(.enabled(if: NATSServer.isWanted, "needs NATS: make -C Lab relay-test"), .timeLimit(.minutes(5)))
struct RelayRecordsTests {
    private func beat(_ connection: NATSConnection, _ number: Int) async throws -> UInt64 {
        try await connection.publish(
            .make("$KV.RELAY.h.m-0000000000000001", payload: "{\"inc\":1,\"n\":\(number)}")
        ).sequence
    }

    /// A silent relay may send a heartbeat between the check and the removal.
    @Test func aHeartbeatThatIsWrittenMeanwhileIsNotRemoved() async throws {
        let server = try await NATSServer()
        let connection = try await server.connectWithStreams()
        let (first, second) = (try await beat(connection, 1), try await beat(connection, 2))
        try await connection.purge("$KV.RELAY.h.m-0000000000000001", upTo: first, of: "KV_RELAY")
        #expect(try await RelayRecords(connection, bucket: "RELAY").beats.map(\.revision) == [second])
        try await connection.purge("$KV.RELAY.h.m-0000000000000001", upTo: second, of: "KV_RELAY")
        #expect(try await RelayRecords(connection, bucket: "RELAY").beats.isEmpty)
    }
}
