// The peer of a WebSocket conformance suite:
//
//     ConformancePeer client URL [client_no_context_takeover]   runs our client against all cases of a fuzzing server
//     ConformancePeer server     runs the mock server as an echo; prints its port, and ends with its input
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
            let keepsContext = arguments.dropFirst(2).first != "client_no_context_takeover"
            await runCases(at: url, offer: DeflateOffer(clientNoContextTakeover: !keepsContext))
        case "server": try await serve()
        case _: exit(EX_USAGE)
        }
    }

    private static func runCases(at url: String, offer: DeflateOffer) async {
        let count = Int(await EchoConnection.run(request("\(url)/getCaseCount", offer)) ?? "") ?? 0
        for number in stride(from: 1, through: count, by: 1) {
            await EchoConnection.run(request("\(url)/runCase?case=\(number)&agent=PusherSwift", offer))
        }
        await EchoConnection.run(request("\(url)/updateReports?agent=PusherSwift", offer))
    }

    /// Cases of group 9 have messages of up to 16 MiB.
    private static func request(_ url: String, _ offer: DeflateOffer) -> WebSocketRequest {
        WebSocketRequest(
            url: url, compression: offer, maximumMessageSize: 64 << 20, maximumSendQueueSize: 256 << 20)
    }

    private static func serve() async throws {
        var configuration = PusherMockServer.Configuration(maximumMessageSize: 64 << 20)
        configuration.echoesMessages = true
        configuration.requiresProtocolVersion = false
        let server = try await PusherMockServer.start(configuration)
        print(server.port)
        fflush(nil)
        while readLine() != nil {}
        await server.stop()
    }
}
