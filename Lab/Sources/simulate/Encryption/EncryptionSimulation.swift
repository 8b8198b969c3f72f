import Basics
import CurlTransport
import EncryptionTestSupport
import JSONBytes
import MatrixEncryption

/// The machines of some devices in encrypted rooms, on one homeserver.
@NetworkActor
final class EncryptionSimulation: Simulation {
    typealias Kind = EncryptionKind

    let schedule: EncryptionSchedule
    let stage: Stage
    var statistics = Statistics<EncryptionKind>()
    var server = EncryptionServer()
    var clients: [EncryptionClient] = []
    var ledger = EncryptionLedger()
    let source: RandomSource

    init(_ schedule: EncryptionSchedule, isRecording: Bool) {
        self.schedule = schedule
        stage = Stage(seed: schedule.seed, isRecording: isRecording)
        let random = Lock(Random(seed: schedule.seed ^ 0xC0DE))
        source = RandomSource { buffer in buffer.copyBytes(from: random.withLock { $0.bytes(buffer.count) }) }
        for user in 0..<EncryptionSchedule.users {
            for room in 0..<EncryptionSchedule.rooms where user + room < EncryptionSchedule.users {
                server.add(.membership(.join, user: Self.user(user)), to: room)
            }
        }
        for user in [0, 1, 2, 0] { login(user) }
    }

    nonisolated static func user(_ number: Int) -> String { "@\(number):s" }

    /// No driver waits for time to pass: each machine's pauses have jobs of their own.
    var nextDeadline: MonotonicInstant? { nil }

    var milliseconds: UInt64 { 1_700_000_000_000 + UInt64((now - SimulatedLoop.start) / .milliseconds(1)) }

    func checkAlways() {}

    // MARK: Steps

    func perform(_ happening: EncryptionSchedule.Happening) {
        switch happening {
        case .say(let device, let room): client(device).map { say(in: room, $0) }
        case .membership(let membership, let user, let room): change(membership, of: Self.user(user), in: room)
        case .visibility(let room):
            server.add(.visibility(isShared: !server.state(of: room).isShared), to: room)
            news()
        case .fates(let device, let fates): client(device)?.fates = fates
        case .syncing(let device, let isSyncing):
            guard let client = client(device) else { return }
            client.isSyncing = isSyncing
            sync(client)
        case .end(let device, let end):
            guard let client = client(device) else { return }
            if case .now = end { restart(client) } else { client.end = end }
        case .login(let user): login(user)
        case .logout(let device): client(device).map(logout)
        case .block(let isBlocked, let device, let blocker):
            guard let device = client(device), let blocker = client(blocker), device !== blocker else { return }
            block(isBlocked, device.address, by: blocker)
        case .verify(let device):
            guard let device = client(device) else { return }
            for other in clients
            where other !== device && !other.isLoggedOut && other.address.user == device.address.user {
                verify(device, other)
            }
        case .discardSession(let device, let room):
            client(device).map { turn($0) { try $0.discardSession(of: EncryptionServer.id(room), &$1) } }
        }
    }

    private func client(_ number: Int) -> EncryptionClient? {
        guard clients.indices.contains(number), !clients[number].isLoggedOut else { return nil }
        return clients[number]
    }

    private func change(_ membership: EncryptionServer.Membership, of user: String, in room: Int) {
        let old = server.state(of: room).members[user] ?? .leave
        switch (membership, old) {
        case (.join, .join), (.leave, .leave), (.invite, .join), (.invite, .invite): return
        case (.join, _): statistics.count(.joins)
        case (.leave, _): statistics.count(.leaves)
        case (.invite, _): statistics.count(.invitations)
        }
        server.add(.membership(membership, user: user), to: room)
        news()
    }

    private func login(_ user: Int) {
        guard clients.count < EncryptionSchedule.devices else { return }
        statistics.count(.logins)
        let address = DeviceAddress(Self.user(user), "D\(clients.count)")
        server.keys.addDevice(address)
        guard let client = try? EncryptionClient(address, now: milliseconds, random: source) else {
            return check(false, "\(address.device) cannot begin")
        }
        clients.append(client)
        sync(client)
        pump(client)
    }

    private func logout(_ client: EncryptionClient) {
        statistics.count(.logouts)
        client.life += 1
        client.isLoggedOut = true
        server.keys.removeDevice(client.address)
        news()
    }

    private func block(_ isBlocked: Bool, _ device: DeviceAddress, by blocker: EncryptionClient) {
        let isKnown = turn(blocker) { machine, turn in
            guard try machine.devices(of: device.user, &turn).contains(where: { $0.address == device }) else {
                return false
            }
            try machine.setTrust(isBlocked ? .blocked : .unset, of: device, &turn)
            return true
        }
        if isKnown == true, isBlocked { statistics.count(.blocks) }
    }

    private func verify(_ one: EncryptionClient, _ other: EncryptionClient) {
        for (client, device) in [(one, other), (other, one)] {
            // From now on each device answers the other's requests, and sends requests to it.
            let isKnown = turn(client) { machine, turn in
                guard
                    try machine.devices(of: device.address.user, &turn).contains(where: { $0.address == device.address }
                    )
                else { return false }
                try machine.setTrust(.verified, of: device.address, &turn)
                return true
            }
            guard isKnown == true else { continue }
            statistics.count(.verifications)
            ledger.verified[client.address, default: []].insert(device.address)
            pump(client)
        }
    }

    // MARK: Processes

    func restart(_ client: EncryptionClient) {
        statistics.count(.restarts)
        log("  \(client.address.device) ends")
        guard (try? client.restart(now: milliseconds, random: source)) != nil else {
            return check(false, "\(client.address.device) cannot begin again")
        }
        let life = client.life
        after(random.seconds(0...2)) { [unowned self] in
            guard client.life == life else { return }
            log("  \(client.address.device) begins")
            sync(client)
            pump(client)
            for room in 0..<EncryptionSchedule.rooms { send(in: room, client) }
        }
    }

    /// Runs a step and stores its result, together with other data to store.
    @discardableResult
    func turn<Value>(
        _ client: EncryptionClient,
        _ body: (inout CryptoMachine, inout CryptoTurn, inout EncryptionClient.Stored) throws -> Value
    ) -> Value? {
        var turn = CryptoTurn(Records(client.records), now: milliseconds, random: source)
        var (machine, stored) = (client.machine, client.stored)
        let value: Value
        do {
            value = try body(&machine, &turn, &stored)
            try readAgain(client.address, &machine, &turn, &stored)
        } catch {
            check(false, "\(client.address.device) cannot go on: \(error)")
            return nil
        }
        if case .beforeCommit = client.end {
            statistics.count(.undone)
            restart(client)
            return nil
        }
        client.records.commit(turn.records.changes)
        (client.machine, client.stored) = (machine, stored)
        return value
    }

    @discardableResult
    func turn<Value>(
        _ client: EncryptionClient, _ body: (inout CryptoMachine, inout CryptoTurn) throws -> Value
    ) -> Value? {
        turn(client) { machine, turn, _ in try body(&machine, &turn) }
    }

    // MARK: Reading

    /// Reads events whose keys the step has brought.
    private func readAgain(
        _ reader: DeviceAddress, _ machine: inout CryptoMachine, _ turn: inout CryptoTurn,
        _ stored: inout EncryptionClient.Stored
    ) throws {
        for case .roomKey(let roomId, let sessionId) in turn.notices {
            for id in try machine.takeWaiting(roomId: roomId, sessionId: sessionId, &turn) {
                guard let event = server.event(id) else { continue }
                if try read(event, reader, &machine, &turn, &stored) { statistics.count(.lateReads) }
            }
        }
    }

    /// - Returns: Whether the event could be read.
    func read(
        _ event: EncryptedEvent, _ reader: DeviceAddress, _ machine: inout CryptoMachine, _ turn: inout CryptoTurn,
        _ stored: inout EncryptionClient.Stored
    ) throws -> Bool {
        let message = ledger.messages[event.eventId]
        let mayRead = message.map { ledger.mayRead($0, reader) } ?? false
        switch try machine.decrypt(event, &turn) {
        case .success(let clear):
            check(mayRead, "\(reader.device) reads \(event.eventId), and must not")
            check(message?.text == clear["content"]?["body"]?.string, "\(event.eventId) says something else")
            if message?.mayBeRead(by: reader) == false, stored.read.insert(event.eventId).inserted {
                statistics.count(.askedReads)
            }
            stored.read.insert(event.eventId)
            return true
        case .failure(let failure):
            check(failure.maySucceedLater, "\(reader.device) cannot read \(event.eventId): \(failure)")
            check(!stored.read.contains(event.eventId), "\(reader.device) cannot read \(event.eventId) any more")
            return false
        }
    }

    // MARK: The calm

    func heal() {
        log("nothing goes wrong any more")
        for client in clients where !client.isLoggedOut {
            (client.fates, client.end, client.isSyncing) = ([], nil, true)
            sync(client)
        }
        after(.seconds(2_000)) { [unowned self] in
            log("everybody says something")
            for client in clients where !client.isLoggedOut {
                for room in client.stored.rooms.keys.sorted() { say(in: room, client, isCalm: true) }
            }
        }
        after(.seconds(4_000)) { [unowned self] in compareAtRest() }
    }

    private func compareAtRest() {
        for client in clients where !client.isLoggedOut {
            check(client.stored.outgoing.isEmpty, "\(client.address.device) has not sent all")
            check(client.stored.token == server.now(of: client.address), "\(client.address.device) is behind")
        }
        for id in ledger.messages.keys.sorted() {
            guard let message = ledger.messages[id], let event = server.event(id) else { continue }
            check(!message.isIncomplete || ledger.calm[id] == nil, "\(id) did not wait for all, and all were there")
            for client in clients { compare(client, event, message) }
        }
    }

    /// Includes devices that did not get the event: one that left, or was logged out, may still obtain it.
    private func compare(_ client: EncryptionClient, _ event: EncryptedEvent, _ message: EncryptionLedger.Message) {
        statistics.count(.comparisons)
        let (mayRead, device) = (ledger.mayRead(message, client.address), client.address.device)
        var turn = CryptoTurn(Records(client.records), now: milliseconds, random: source)
        var machine = client.machine
        let result = try? machine.decrypt(event, &turn)
        switch result {
        case .success: check(mayRead, "\(device) can read \(event.eventId), and must not")
        case .failure(let failure):
            if !mayRead { statistics.count(.refusals) }
            let isTold = client.stored.told.contains(event.eventId) || ledger.calm[event.eventId] != nil
            // A device that is asked may not have the key yet, and is not asked again.
            let mustRead = message.mayBeRead(by: client.address) && isTold && !message.isIncomplete
            check(!mustRead || client.isLoggedOut, "\(device) cannot read \(event.eventId): \(failure)")
            check(!client.stored.read.contains(event.eventId), "\(device) has forgotten \(event.eventId)")
        case nil: check(false, "\(device) cannot try to read \(event.eventId)")
        }
    }
}
