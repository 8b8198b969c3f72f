import Foundation
import MatrixProtocol
import MatrixSDK
import TestSupport
import Testing

/// `kill -9` in the middle of encrypted traffic, KILLS times (20).
@Suite(.onHomeserver, .overSockets, .timeLimit(.minutes(15)))
struct KilledCommandTests {
    private static let kills = ProcessInfo.processInfo.environment["KILLS"].flatMap(Int.init) ?? 20

    @Test func nothingIsLost_andNoIndexOfARatchetIsUsedTwice() async throws {
        let homeserver = try Homeserver(.plain)
        let ann = try await CommandUser("ann", on: homeserver)
        let nio = try await EncryptedPeer("nio", on: homeserver)
        let room = try #require(try await nio.perform("create", "Mill", ann.user.id)["room_id"])
        #expect(try await ann.output("join", room) == [room])
        _ = try #require(try await ann.output("send", room, "first").first)

        var theirs: [String: String] = [:]
        for number in 0..<Self.kills {
            let program =
                number % 2 == 0
                ? ann.command("send", room, "ann \(number)") : ann.command("listen", "--room", room, "--json")
            try program.start()
            async let sent = nio.send("nio \(number)", to: room)
            // The moment is the test's only choice.
            try await Task.sleep(for: .milliseconds(.random(in: 0..<500)))
            program.kill()
            _ = try await program.end()
            theirs[try await sent] = "nio \(number)"
        }
        _ = try #require(try await ann.output("send", room, "last").first)

        // What arrived of ours, each of it once, and readable for the other.
        let client = MXRestClient(homeServer: try #require(URL(string: homeserver.url)), options: .direct)
        _ = try await client.login(username: ann.user.name, password: ann.user.password)
        var ours: [MXEvent] = []
        var token: String?
        repeat {
            let page = try await client.messages(forRoom: room, from: token, limit: 100)
            ours += page.chunk.filter { $0.wireType == "m.room.encrypted" && $0.sender == ann.user.id }
            token = page.end
        } while token != nil
        #expect(ours.count >= 2)
        var used: [String: String] = [:]
        for event in ours {
            let place = try #require(Self.place(event))
            #expect(used.updateValue(event.eventId, forKey: place) == nil, "index \(place) twice")
            #expect(await nio.reads(event.eventId))
        }

        // What arrived of theirs is readable here.
        let lines = try await ann.output("messages", room, "--limit", "\(3 * Self.kills + 20)", "--json")
        for (id, text) in theirs {
            #expect(lines.contains { $0.contains(id) && $0.contains("\"\(text)\"") }, "\(text)")
        }
    }

    /// Session and index of a Megolm message.
    private static func place(_ event: MXEvent) -> String? {
        guard let session = event.wireContent["session_id"]?.string, var text = event.wireContent["ciphertext"]?.string
        else { return nil }
        text += String(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let bytes = Data(base64Encoded: text), bytes.count > 3, bytes[0] == 3, bytes[1] == 8 else { return nil }
        var (index, shift) = (0, 0)
        for byte in bytes[2...].prefix(5) {
            index |= Int(byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 { break }
        }
        return "\(session) \(index)"
    }
}
