// What a WebSocket conformance suite tests:
//
//     ConformancePeer client URL   our client against all cases of a fuzzing server
//     ConformancePeer server       the mock server, sending back what it gets; prints its port
import Glibc
import PusherMockServer
import Transport

@main
struct ConformancePeer {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "client":
            guard let url = arguments.dropFirst().first else { exit(EX_USAGE) }
            await runCases(at: url)
        case "server": try await serve()
        case _: exit(EX_USAGE)
        }
    }

    private static func runCases(at url: String) async {
        let count = Int(await EchoConnection.run(request("\(url)/getCaseCount")) ?? "") ?? 0
        for number in stride(from: 1, through: count, by: 1) {
            await EchoConnection.run(request("\(url)/runCase?case=\(number)&agent=PusherSwift"))
        }
        await EchoConnection.run(request("\(url)/updateReports?agent=PusherSwift"))
    }

    /// The cases of group 9 have messages of up to 16 MiB.
    private static func request(_ url: String) -> WebSocketRequest {
        WebSocketRequest(
            url: url, compression: DeflateOffer(), maximumMessageSize: 64 << 20, maximumSendQueueSize: 256 << 20)
    }

    private static func serve() async throws {
        var configuration = PusherMockServer.Configuration(maximumMessageSize: 64 << 20)
        configuration.echoesMessages = true
        let server = try await PusherMockServer.start(configuration)
        print(server.port)
        fflush(nil)
        try await Task.sleep(for: .seconds(24 * 3600))
    }
}
