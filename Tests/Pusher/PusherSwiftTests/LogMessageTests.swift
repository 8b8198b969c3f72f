import PusherMockServer
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

@Suite(.overSockets)
struct LogMessageTests {
    @Test func theErrorIsTheMessage_ofTheModuleThatTheApplicationImports() async throws {
        try await withServer { server in
            await server.failHandshakes(.httpStatus(503))
            let (lines, recorder) = (LogLines(), Recorder())
            let pusher = Pusher.make(server, recorder) {
                $0.logger = lines.logger
                $0.autoReconnect = false
            }
            pusher.connect()
            #expect(await eventually { lines.all.contains { $0.hasPrefix("warning ") && $0.contains("503") } })
            pusher.disconnect()
            #expect(!lines.contains("pusher error"))
            #expect(!lines.contains("pusher.channel"))
            #expect(lines.sources == ["PusherSwift"])
        }
    }
}
