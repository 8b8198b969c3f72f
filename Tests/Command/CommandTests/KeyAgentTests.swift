import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

@testable import CommandKit
@testable import MatrixCommands
@testable import PusherCommands

/// Commands that let another process encrypt and decrypt for them.
@Suite(.overSockets, .serialized) struct KeyAgentTests {
    /// Keys whose results repeat the request.
    private struct Keys: RoomKeys {
        func send(_ content: [String: Any], to roomID: String, transactionID: String?) async throws -> String {
            if roomID == "!slow:s" { try await Task.sleep(for: .seconds(6)) }
            guard roomID != "!forbidden:s" else { throw CommandFailure(.refused, "you are not in \(roomID)") }
            return "$\(content["body"] as? String ?? "-") \(roomID) \(transactionID ?? "-")"
        }

        func upload(
            _ file: URL, mimeType: String, caption: String?, to roomID: String,
            onProgress: @escaping @Sendable (MXTransferProgress) -> Void
        ) async throws -> String { "$\(file.path) \(mimeType) \(caption ?? "-") \(roomID)" }

        func read(_ events: [MXEvent], in roomID: String) async throws -> [ReadEvent] {
            events.map { event in
                guard event.isEncrypted else { return ReadEvent(event: event, shield: .sentInClear) }
                let clear = JSONView(Array(#"{"type":"m.room.message","content":{"body":"clear"}}"#.utf8))
                return ReadEvent(event: clear.map(event.withDecrypted) ?? event, shield: .unsignedDevice)
            }
        }

        func invite(_ userID: String, to roomID: String) async throws -> String? {
            roomID == "!r:s" ? nil : "no keys for \(userID)"
        }

        func ownDevices() async throws -> [String: DeviceStanding] {
            Dictionary(uniqueKeysWithValues: DeviceStanding.allCases.map { ("\($0)", $0) })
        }
    }

    private let store: MatrixStore
    private let folder: URL

    init() throws {
        // Longer than a socket's address may be.
        let name = String(repeating: "a", count: 120)
        folder = FileManager.default.temporaryDirectory.appending(path: "agent-\(UUID().uuidString)/\(name)")
        store = MatrixStore(userID: "@ann:s", deviceID: "A", folder: folder)
        try FileManager.default.createDirectory(atPath: store.agentFolder, withIntermediateDirectories: true)
    }

    private func withAgent(
        patience: Duration = .seconds(10), _ body: (KeyAgentClient) async throws -> Void
    ) async throws {
        defer { try? FileManager.default.removeItem(at: folder.deletingLastPathComponent()) }
        let agent = try await KeyAgent.start(Keys(), for: store)
        defer { agent.stop() }
        try await body(try #require(await KeyAgentClient(of: store, patience: patience)))
    }

    private func event(_ type: String, _ id: String) throws -> MXEvent {
        let json = #"{"type":"\#(type)","event_id":"\#(id)","sender":"@b:s","content":{"body":"x"}}"#
        return try #require(MXEvent(data: Data(json.utf8), roomId: "!r:s"))
    }

    @Test func theAgentDoesWhatItIsAskedFor() async throws {
        try await withAgent { client in
            #expect(try await client.send(["body": "hi"], to: "!r:s", transactionID: "t 1") == "$hi !r:s t 1")
            #expect(try await client.send(["body": "hi"], to: "!r:s", transactionID: nil) == "$hi !r:s -")
            let uploaded = try await client.upload(
                URL(filePath: "/tmp/a b.png"), mimeType: "image/png", caption: "c", to: "!r:s", onProgress: { _ in })
            #expect(uploaded == "$/tmp/a b.png image/png c !r:s")
            let read = try await client.read(
                [event("m.room.encrypted", "$1"), event("m.room.message", "$2")], in: "!r:s")
            #expect(read.map(\.event.eventId) == ["$1", "$2"])
            #expect(read.map { $0.event.contentJSON["body"]?.string } == ["clear", "x"])
            #expect(read.map(\.shield) == [.unsignedDevice, .sentInClear])
            #expect(try await client.invite("@b:s", to: "!r:s") == nil)
            #expect(try await client.invite("@b:s", to: "!q:s") == "no keys for @b:s")
            let devices = try await client.ownDevices()
            #expect(
                devices == ["verified": .verified, "unverified": .unverified, "blocked": .blocked, "changed": .changed])
        }
    }

    @Test func itsFailuresAreThoseOfTheCommand() async throws {
        try await withAgent { client in
            let failure = await #expect(throws: CommandFailure.self) {
                try await client.send([:], to: "!forbidden:s", transactionID: nil)
            }
            #expect(failure?.exitStatus == .refused)
            #expect(failure?.description == "you are not in !forbidden:s")
        }
    }

    /// Many requests at once, each with its own answer.
    @Test func requestsDoNotWaitForEachOther() async throws {
        try await withAgent { client in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        let id = try await client.send(["body": "\(number)"], to: "!r:s", transactionID: nil)
                        #expect(id == "$\(number) !r:s -")
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// The client waits for a sign of life from the process, not for the answer.
    @Test func workMayTakeLongerThanTheAgentMayBeSilent() async throws {
        try await withAgent(patience: .seconds(5)) { client in
            let id = try await client.send(["body": "hi"], to: "!slow:s", transactionID: nil)
            #expect(id == "$hi !slow:s -")
        }
    }

    @Test func anAgentThatHasEndedIsNone() async throws {
        #expect(await KeyAgentClient(of: store).isNone)
        try await withAgent { _ in }
        #expect(await eventually { await KeyAgentClient(of: store).isNone })
    }

    /// Neither the agent's process nor the command's is harmed.
    @Test func aCommandMayConnectWhileTheAgentEnds() async throws {
        defer { try? FileManager.default.removeItem(at: folder.deletingLastPathComponent()) }
        for _ in 0..<50 {
            let agent = try await KeyAgent.start(Keys(), for: store)
            await withTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { [store] in
                        let client = await KeyAgentClient(of: store, patience: .seconds(1))
                        _ = try? await client?.send([:], to: "!r:s", transactionID: nil)
                    }
                }
                group.addTask { agent.stop() }
            }
        }
        #expect(await eventually { await KeyAgentClient(of: store).isNone })
    }

    @Test(arguments: ["", "nonsense", "[1]", "{}", #"{"send":1}"#, #"{"room_id":"!r:s"}"#])
    func whatIsNoRequestIsNone(text: String) {
        #expect(JSONView(Array(text.utf8)).flatMap(KeyAgentRequest.init) == nil)
    }
}

extension Optional {
    fileprivate var isNone: Bool { if case .none = self { true } else { false } }
}
