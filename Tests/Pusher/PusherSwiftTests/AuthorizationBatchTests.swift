import TestSupport
import Testing

@testable import PusherProtocol
@testable import PusherSwift

struct AuthorizationBatchTests {
    private static func requests(_ count: Int) throws -> [AuthRequest] {
        let (channel, socketID) = (try ChannelName("private-a"), try #require(SocketID("1.1")))
        return (0..<count).map { AuthRequest(id: AuthRequestID(number: $0), channel: channel, socketID: socketID) }
    }

    @Test func callsTakeWhatWaits_inOrder_withoutWhatWasTakenBack() throws {
        var batch = AuthorizationBatch()
        for request in try Self.requests(7) { batch.add(request) }
        for number in [1, 2, 6] { batch.remove(AuthRequestID(number: number)) }
        #expect(batch.begin(maximumCalls: 2, maximumChannels: 3)?.map(\.id.number) == [0, 3, 4])
        batch.remove(AuthRequestID(number: 0))  // already running
        #expect(batch.begin(maximumCalls: 1, maximumChannels: 3) == nil)
        #expect(batch.begin(maximumCalls: 2, maximumChannels: 3)?.map(\.id.number) == [5])
        #expect(batch.begin(maximumCalls: 3, maximumChannels: 3) == nil)
        batch.end()
        batch.add(try Self.requests(8)[7])
        batch.remove(AuthRequestID(number: 7))
        #expect(batch.begin(maximumCalls: 3, maximumChannels: 3) == nil)
    }

    /// This happens at the end of a connection with a hundred thousand channels, and blocks the I/O thread.
    @Test func takingBackAllCostsLittleForEach() throws {
        let requests = try Self.requests(16_000)
        let growth = growth(from: 2000) { count in
            var batch = AuthorizationBatch()
            for request in requests[..<count] { batch.add(request) }
            for request in requests[..<count] { batch.remove(request.id) }
        }
        #expect(growth < 24)
    }
}
