import Basics
import Foundation
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import TestSupport
import Testing

/// Time-outs measure silence: slow answers still arrive.
@Suite(.overSockets)
struct SlowAnswerTests {
    /// Much longer than the pause between two pieces, even on a busy machine, and shorter than the whole answer.
    private static let silence = Duration.seconds(5)

    /// Sends `body` to every request in pieces, one per 400 ms over eight seconds, and answers all later requests at
    /// once.
    private static func drip(_ body: String) -> SocketServer {
        let isFirst = Lock(true)
        return SocketServer { peer in
            _ = peer.readHead()
            let bytes = Array(body.utf8)
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\nConnection: close\r\n\r\n")
            let drips = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            let size = drips ? max(bytes.count / 20, 1) : bytes.count
            for start in stride(from: 0, to: bytes.count, by: size) {
                peer.write(Array(bytes[start...].prefix(size)))
                if drips { Thread.sleep(forTimeInterval: 0.4) }
            }
        }
    }

    private static func client(_ server: SocketServer) -> MXRestClient {
        var options = MXRestClientOptions.quick
        options.requestTimeout = Self.silence
        options.connectionTries = 1
        var credentials = MXCredentials(
            homeServer: "http://127.0.0.1:\(server.port)", userId: "@a:s", accessToken: "t")
        credentials.deviceId = "D"
        return MXRestClient(credentials: credentials, options: options)
    }

    @Test func aFirstSyncOfWhichSomethingComesAgainAndAgainIsNotGivenUp() async throws {
        let server = Self.drip(
            #"{"next_batch":"s1",\#(Sync.room(state: Sync.members, timeline: [Sync.message("$1")]))}"#)
        var options = MXSessionOptions()
        options.initialSyncTimeout = Self.silence
        let session = MXSession(matrixRestClient: Self.client(server), options: options)
        defer { session.close() }
        try await session.start()
        #expect(session.rooms.first?.lastMessage?.eventId == "$1")
    }

    @Test func aCallMayTakeLongerThanItsTimeoutIfItsAnswerComes() async throws {
        let server = Self.drip(#"{"joined_rooms":["!r:s","!a-room-with-a-long-id:s","!and-one-more:s"]}"#)
        #expect(try await Self.client(server).joinedRooms().count == 3)
    }
}
