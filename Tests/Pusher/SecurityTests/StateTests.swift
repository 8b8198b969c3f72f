import Foundation
import PusherMockServer
import PusherProtocol
import PusherProtocolTestSupport
import PusherSwift
import PusherTestSupport
import TestSupport
import Testing

@testable import PusherProtocol

/// Secrets are not kept longer than necessary, and servers serve only their own machine.
struct StateTests {
    private let secret = Data(repeating: 7, count: 32).base64EncodedString()

    @Test func unsubscribingForgetsTheKeyAndTheSignature() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-encrypted-x")
        _ = client.take()
        client.answer("private-encrypted-x", .success(AuthAnswer(auth: "k:s", sharedSecret: secret)))
        client.succeed("private-encrypted-x")
        #expect(client.machine.channels[id]?.key != nil)
        client.unsubscribe("private-encrypted-x")
        #expect(client.machine.channels[id] == nil)
        #expect(!client.machine.channels.values.contains { $0.key != nil || $0.givenAuth != nil })
    }

    /// A signature is valid for one connection, and is not kept for another.
    @Test func aSignatureThatWasGivenIsUsedOnce() throws {
        var client = ClientScript.connected()
        let id = try client.subscribe("private-x", auth: AuthAnswer(auth: "k:s"))
        client.succeed("private-x")
        #expect(client.machine.channels[id]?.isSubscribed == true)
        #expect(client.machine.channels[id]?.givenAuth == nil)
    }

    /// An answer after `unsubscribe` restores nothing.
    @Test func aLateAnswerIsForgotten() throws {
        var client = ClientScript.connected()
        _ = try client.subscribe("private-encrypted-x")
        _ = client.take()
        client.unsubscribe("private-encrypted-x")
        client.answer("private-encrypted-x", .success(AuthAnswer(auth: "k:s", sharedSecret: secret)))
        #expect(client.machine.channels.isEmpty)
        #expect(!client.take().contains { $0.hasPrefix("send subscribe") })
    }

    @Test func theMockServerIsForItsOwnMachine() async throws {
        let configuration = PusherMockServer.Configuration()
        #expect(configuration.host == "127.0.0.1")
        try await withServer(configuration) { server in
            // The kernel's list may omit lines while sockets come and go.
            #expect(await eventually { (try? self.listeningAddresses(port: server.port)) == ["0100007F"] })
        }
    }

    /// Listening addresses in the kernel's form: hexadecimal, lowest byte first. A listening socket has the state 0A.
    private func listeningAddresses(port: Int) throws -> [String] {
        var addresses: [String] = []
        for line in try kernelFile("/proc/net/tcp").split(separator: "\n") {
            let columns = line.split(separator: " ")
            guard columns.count > 3, columns[3] == "0A" else { continue }
            let local = columns[1].split(separator: ":")
            if local.last == hexadecimal(port)[...] { addresses.append(String(local[0])) }
        }
        return addresses
    }

    /// Foundation reads only the first part of a large file, because its size is reported as 0.
    private func kernelFile(_ path: String) throws -> String {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        var contents = Data()
        while let part = try file.read(upToCount: 1 << 16), !part.isEmpty { contents += part }
        return String(decoding: contents, as: UTF8.self)
    }

    private func hexadecimal(_ port: Int) -> String {
        let digits = String(port, radix: 16, uppercase: true)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }
}
