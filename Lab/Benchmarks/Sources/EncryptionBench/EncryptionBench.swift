// CPU time of Matrix encryption, next to Lab/Benchmarks/C/ratchets.c and Lab/bench/encryption_peers.py.
//
//     EncryptionBench messages N size BYTES      the ratchets: seconds per message, and per opened Olm session
//     EncryptionBench events N size BYTES        N events of rooms with 100 each, decrypted as those of one sync
//     EncryptionBench late N size BYTES          N events of one session, waiting for its key, when the key arrives
//     EncryptionBench memory N size BYTES        growth of memory from a tenth of N messages to the last
//
// Part of the main package, not of Lab/Benchmarks/Package.swift, because it measures code that is not public.
import Foundation
import JSONBytes
import MatrixEncryption

@main
struct EncryptionBench {
    static func main() throws {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count == 4, let count = Int(words[1]), count >= 10, words[2] == "size", let size = Int(words[3])
        else { usage() }
        let figures =
            switch words[0] {
            case "messages": try ratchets(count, size)
            case "events": try events(count, size)
            case "late": try late(count, size)
            case "memory": try memory(count, size)
            case _: usage()
            }
        print("{\(figures.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}")
    }

    private static func usage() -> Never {
        FileHandle.standardError.write(Data("usage: EncryptionBench messages|events|late|memory N size BYTES\n".utf8))
        exit(64)
    }

    // MARK: Ratchets

    private static func ratchets(_ count: Int, _ size: Int) throws -> [String: Double] {
        let text = SecretBytes(repeatElement(UInt8(ascii: "x"), count: size))
        var figures: [String: Double] = [:]
        var outbound = OutboundGroupSession(random: .system)
        var inbound = try InboundGroupSession(sessionKey: outbound.sessionKey)
        var messages: [String] = []
        figures["megolm_encrypt"] = try seconds(each: count) {
            messages.append(UnpaddedBase64.encode(try outbound.encrypt(text)))
        }
        var next = messages.makeIterator()
        figures["megolm_decrypt"] = try seconds(each: count) {
            _ = try inbound.decrypt(MegolmMessage(UnpaddedBase64.decode(next.next() ?? "")))
        }

        var (hers, his) = try conversation()
        var bodies: [OlmMessage] = []
        figures["olm_encrypt"] = try seconds(each: count) {
            bodies.append(try hers.encrypt(text, random: .system))
            _ = bodies[bodies.count - 1].body
        }
        let texts = bodies.map(\.body)
        var body = texts.makeIterator()
        figures["olm_decrypt"] = try seconds(each: count) {
            _ = try his.decrypt(OlmMessage(type: 1, body: body.next() ?? ""))
        }

        let (alice, bob) = (OlmAccount(random: .system), accountWithKeys())
        figures["olm_open"] = try seconds(each: count / 20 + 1) {
            _ = try open(alice, bob, text)
        }
        return figures
    }

    private static func accountWithKeys() -> OlmAccount {
        var account = OlmAccount(random: .system)
        account.makeOneTimeKeys(50, random: .system)
        return account
    }

    private static func open(
        _ alice: OlmAccount, _ bob: OlmAccount, _ text: SecretBytes
    ) throws -> (hers: OlmSession, his: OlmSession) {
        var bob = bob
        guard let key = bob.oneTimeKeys.last?.publicKey else { throw EncryptionError.oneTimeKey }
        var hers = try alice.outboundSession(
            identityKey: bob.curve25519.publicKey, oneTimeKey: key, random: .system)
        let message = OlmMessage.preKey(try UnpaddedBase64.decode(try hers.encrypt(text, random: .system).body))
        guard case .preKey(let bytes) = message else { throw EncryptionError.version }
        let (his, _) = try bob.inboundSession(
            from: OlmPreKeyMessage(bytes), senderKey: alice.curve25519.publicKey)
        return (hers, his)
    }

    /// Two sessions that have each received a message of the other.
    private static func conversation() throws -> (hers: OlmSession, his: OlmSession) {
        let text = SecretBytes([1])
        var (hers, his) = try open(OlmAccount(random: .system), accountWithKeys(), text)
        _ = try hers.decrypt(his.encrypt(text, random: .system))
        return (hers, his)
    }

    // MARK: Events

    private static let roomMessages = 100
    private static let alice = DeviceAddress("@alice:example.org", "ALICEDEVICE")

    /// Decrypts with a machine whose records are in memory; the events are parsed JSON.
    private static func events(_ count: Int, _ size: Int) throws -> [String: Double] {
        let records = MemoryRecords()
        var turn = CryptoTurn(Records(records), now: 1_700_000_000_000, random: .system)
        var machine = try CryptoMachine(me: DeviceAddress("@bob:example.org", "BOBDEVICE"), &turn)
        var events: [EncryptedEvent] = []
        for room in 0..<max(1, count / roomMessages) {
            events += try Self.events(of: "!room\(room):example.org", min(count, roomMessages), size, &turn)
        }
        records.commit(turn.records.changes)
        turn = CryptoTurn(Records(records), now: 1_700_000_000_000, random: .system)
        var read = 0
        let seconds = try seconds(each: 1) {
            for event in events {
                if try machine.decrypt(event, &turn).get().isObject { read += 1 }
            }
        }
        guard read == events.count else { throw EncryptionError.mac }
        return ["seconds": seconds, "events": Double(events.count)]
    }

    /// The events could not be read at first, and wait as in the records.
    private static func late(_ count: Int, _ size: Int) throws -> [String: Double] {
        let (records, room) = (MemoryRecords(), "!room:example.org")
        var turn = CryptoTurn(Records(MemoryRecords()), now: 1_700_000_000_000, random: .system)
        let events = try Self.events(of: room, count, size, &turn)
        let sessionId = events.first?.content["session_id"]?.string ?? ""
        guard let record: InboundSessionRecord = try turn.records.value(scope: room, key: sessionId) else {
            throw EncryptionError.noSession
        }
        let key = try ExportedSession(record, in: room)

        turn = CryptoTurn(Records(records), now: 1_700_000_000_000, random: .system)
        var machine = try CryptoMachine(me: DeviceAddress("@bob:example.org", "BOBDEVICE"), &turn)
        for event in events { _ = try machine.decrypt(event, &turn) }
        records.commit(turn.records.changes)
        let known = Dictionary(events.map { ($0.eventId, $0) }) { $1 }
        turn = CryptoTurn(Records(records), now: 1_700_000_000_000, random: .system)
        var read = 0
        let seconds = try seconds(each: 1) {
            _ = try machine.importSessions([key], &turn)
            let waiting = try machine.takeWaiting(roomId: room, sessionId: sessionId, &turn).compactMap { known[$0] }
            // In the order of their encryption.
            for event in try waiting.map({ (index: try index(of: $0), event: $0) }).sorted(by: { $0.index < $1.index })
            {
                if try machine.decrypt(event.event, &turn).get().isObject { read += 1 }
            }
            records.commit(turn.records.changes)
        }
        guard read == count else { throw EncryptionError.mac }
        return ["seconds": seconds, "events": Double(count)]
    }

    private static func index(of event: EncryptedEvent) throws -> UInt32 {
        try MegolmMessage(UnpaddedBase64.decode(event.content["ciphertext"]?.string ?? "")).index
    }

    private static func events(
        of room: String, _ count: Int, _ size: Int, _ turn: inout CryptoTurn
    ) throws -> [EncryptedEvent] {
        var session = OutboundGroupSession(random: .system)
        let record = InboundSessionRecord(
            session: try InboundGroupSession(sessionKey: session.sessionKey), user: alice.user, device: alice.device,
            curve25519: Curve25519KeyPair(random: .system).publicKey,
            ed25519: Ed25519KeyPair(random: .system).publicKey, source: .direct, isSharedHistory: false)
        turn.records.set(record, scope: room, key: session.id)
        return try (0..<count).map { index in
            let overhead = payload(room, body: "").utf8.count  // makes it as long as the texts of the ratchets
            let text = payload(room, body: String(repeating: "x", count: max(0, size - overhead)))
            var event = JSONWriter()
            event.add("algorithm", ExportedSession.algorithm)
            event.add("ciphertext", UnpaddedBase64.encode(try session.encrypt(SecretBytes(text.utf8))))
            event.add("session_id", session.id)
            event.add("device_id", alice.device)
            return EncryptedEvent(
                roomId: room, eventId: "$\(index)\(room)", sender: alice.user, time: 1, isState: false,
                content: event.view)
        }
    }

    private static func payload(_ room: String, body: String) -> String {
        var content = JSONWriter()
        content.add("msgtype", "m.text")
        content.add("body", body)
        var payload = JSONWriter()
        payload.add("type", "m.room.message")
        payload.add("room_id", room)
        payload.add("content", content)
        return payload.text
    }

    // MARK: Memory

    /// The memory of both ratchets, each stored and loaded regularly.
    private static func memory(_ count: Int, _ size: Int) throws -> [String: Double] {
        let text = SecretBytes(repeatElement(UInt8(ascii: "x"), count: size))
        var outbound = OutboundGroupSession(random: .system)
        var inbound = try InboundGroupSession(sessionKey: outbound.sessionKey)
        var (hers, his) = try conversation()
        var before = 0
        for index in 0..<count {
            if index == count / 10 { before = residentBytes() }
            _ = try inbound.decrypt(MegolmMessage(outbound.encrypt(text)))
            // Includes turns of the ratchet and lost messages.
            let message = try hers.encrypt(text, random: .system)
            if index % 7 > 0 { _ = try his.decrypt(message) }
            if index % 3 == 0 { _ = try hers.decrypt(his.encrypt(text, random: .system)) }
            if index % 100 == 0 {
                (hers, his) = (try OlmSession(state: hers.state), try OlmSession(state: his.state))
                outbound = try OutboundGroupSession(state: outbound.state)
            }
        }
        return ["growth_bytes": Double(residentBytes() - before), "messages": Double(count)]
    }
}

/// CPU seconds per iteration.
private func seconds(each count: Int, _ body: () throws -> Void) throws -> Double {
    let start = cpuSeconds()
    for _ in 0..<count { try body() }
    return (cpuSeconds() - start) / Double(count)
}

private func cpuSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

private func residentBytes() -> Int {
    let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
    return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
}
