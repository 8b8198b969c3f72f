import Basics
import JSONBytes

/// One verification of another device or user, as a value: no network, clock or records inside.
package struct Verification: Sendable, Identifiable {
    /// What is to be done after a step.
    enum Action: Sendable, Equatable {
        /// - Parameter devices: Of the other user; empty in a room.
        case send(VerificationEvent, to: [String])
        case trust(Proof)
    }

    /// Which of the other side's keys were verified.
    package struct Proof: Sendable, Equatable {
        package var device = false
        /// Of another user this is what counts.
        package var master = false
    }

    private enum Phase: Sendable {
        case requested
        /// `start` came without a request. Our user is asked.
        case offered(SASOffer, start: JSONView)
        case ready(VerificationQRCode?)
        case sas(SASExchange, Answers)
        /// - Parameter code: Our own, which the other side may have scanned at the same time.
        case scanned(code: VerificationQRCode?)
        case reciprocated
        case verified
        case done
        case cancelled(VerificationCancelCode?, byPeer: Bool)
    }

    /// What the two users have said: in whatever order.
    private struct Answers: Sendable {
        var isConfirmed = false
        /// Ids of the keys that the peer has indeed, once it has sent codes of them.
        var verified: [String]?
        /// The peer has said that it is done.
        var isPeerDone = false
    }

    package let id: ID
    package let direction: Direction
    /// The other side's; nil while it is not known which one answers.
    package private(set) var device: String?
    /// Nil before our side is done.
    package private(set) var proof: Proof?
    private(set) var keys: VerificationKeys
    private let me: DeviceAddress
    private let methods: Set<VerificationMethod>
    /// What the other side can do; of ours, what it has asked for.
    private var peerMethods: Set<VerificationMethod> = []
    private var phase = Phase.requested
    private var clock: Clock
    /// A cancel went out. There is no second one.
    private var hasSentCancel = false
    /// In a room: the server has put our `ready` there before any other.
    private var isReadySeen = false
    /// In a room: the other side's events that were taken.
    private var eventIds: Set<ByteKey> = []
    private static let maximumEvents = 64

    /// Milliseconds since 1970.
    private struct Clock: Sendable {
        /// When a request stops being shown.
        var promptEnd: UInt64
        var start: UInt64?
        /// When something was sent or received last.
        var lastStep: UInt64
    }

    static let patience: UInt64 = 600_000
    static let promptPatience: UInt64 = 120_000

    /// - Parameters:
    ///   - device: The other side's, where it is known; it is among those of the keys.
    ///   - time: When it was requested, as the requester says.
    init(
        _ id: ID, _ direction: Direction, me: DeviceAddress, device: String?, keys: VerificationKeys,
        methods: Set<VerificationMethod>, time: UInt64, now: UInt64
    ) {
        (self.id, self.direction, self.me, self.device) = (id, direction, me, device)
        (self.keys, self.methods) = (keys, methods)
        let end =
            switch direction {
            case .incoming: min(time + Self.patience, now + Self.promptPatience)
            case .outgoing: now + Self.patience
            }
        clock = Clock(promptEnd: end, lastStep: now)
    }

    private var isSameUser: Bool { id.user.isExactly(me.user) }

    // MARK: What is shown

    package var state: State {
        switch phase {
        case .requested, .offered: .requested
        case .ready(let code):
            .ready(canCompare: agreesOn(.sas), canScan: agreesOn(.scanCode) && agreesOn(.reciprocate), code: code)
        case .sas(let exchange, let answers):
            if let shown = exchange.shown {
                .comparing(emoji: shown.emoji, decimals: shown.decimals, isConfirmed: answers.isConfirmed)
            } else {
                .exchanging
            }
        case .scanned: .scanned
        case .reciprocated: .reciprocated
        case .verified: .verified
        case .done: .done
        case .cancelled(let code, let byPeer): .cancelled(code: code, byPeer: byPeer)
        }
    }

    /// Nothing that comes can change its result any more.
    package var isFinished: Bool {
        switch phase {
        case .requested, .offered, .ready, .sas, .scanned, .reciprocated: false
        case .verified, .done, .cancelled: true
        }
    }

    private func agreesOn(_ method: VerificationMethod) -> Bool {
        methods.contains(method) && peerMethods.contains(method.counterpart)
    }

    // MARK: Time

    /// When it ends by itself; nil if it is over.
    var deadline: UInt64? {
        switch phase {
        case .requested, .offered: clock.promptEnd
        case .ready, .sas, .scanned, .reciprocated, .verified:
            min(clock.start.map { $0 + Self.patience } ?? .max, clock.lastStep + Self.patience)
        case .done, .cancelled: nil
        }
    }

    /// When it may be forgotten.
    var expiry: UInt64 { clock.lastStep + 2 * Self.patience }

    mutating func timePassed(now: UInt64) -> [Action] {
        guard let deadline, now >= deadline else { return [] }
        switch phase {
        case .verified:
            phase = .done  // the other side need not say anything
            return []
        // Others of our devices may be asked still.
        case .requested where direction == .incoming:
            phase = .cancelled(.timeout, byPeer: false)
            return []
        case .requested, .offered, .ready, .sas, .scanned, .reciprocated: return cancel(.timeout, now: now)
        case .done, .cancelled: return []
        }
    }

    private mutating func noteStep(_ now: UInt64) { clock.lastStep = max(clock.lastStep, now) }

    // MARK: Request and ready

    /// Our own request. In a room it is sent before this value is made, since its event is the id.
    mutating func request(now: UInt64) -> [Action] {
        var content = JSONWriter()
        Self.request(&content, device: me.device, methods)
        content.add("timestamp", json: "\(now)")
        return [send(.request, content)]
    }

    /// Members of a request.
    static func request(_ content: inout JSONWriter, device: String, _ methods: Set<VerificationMethod>) {
        content.add("from_device", device)
        content.add("methods", json: list(methods))
    }

    private static func list(_ methods: Set<VerificationMethod>) -> String {
        "[" + methods.map { "\"\($0.rawValue)\"" }.sorted().joined(separator: ",") + "]"
    }

    /// The other side asks for it.
    ///
    /// - Returns: Whether there is a way to verify each other.
    mutating func requested(_ methods: Set<VerificationMethod>) -> Bool {
        peerMethods = methods
        return agreesOn(.sas) || canShowOrScan
    }

    private var canShowOrScan: Bool {
        agreesOn(.reciprocate) && (agreesOn(.showCode) || agreesOn(.scanCode))
    }

    /// Our user agrees to a request.
    mutating func accept(now: UInt64, random: RandomSource) throws(EncryptionError) -> [Action] {
        guard direction == .incoming, let device else { throw .unexpected }
        switch phase {
        case .requested:
            noteStep(now)
            phase = .ready(code(with: device, random))
            var content = JSONWriter()
            content.add("from_device", me.device)
            content.add("methods", json: Self.list(methods.filter { peerMethods.contains($0.counterpart) }))
            return [send(.ready, content)]
        case .offered(let offer, let start): return answer(offer, start, with: device, now: now, random: random)
        case .ready, .sas, .scanned, .reciprocated, .verified, .done, .cancelled: throw .unexpected
        }
    }

    private func code(with device: String, _ random: RandomSource) -> VerificationQRCode? {
        guard agreesOn(.reciprocate), agreesOn(.showCode) else { return nil }
        return keys.code(id: id.transaction, device: device, isSameUser: isSameUser, random: random)
    }

    /// In a room, where the devices are not chosen: one answers that was not known at the time of the request.
    mutating func note(_ device: VerificationKeys.Device) {
        guard id.roomId != nil, self.device == nil, keys.key(of: device.id) == nil else { return }
        keys.otherDevices.append(device)
    }

    private mutating func becameReady(
        _ device: String, _ methods: Set<VerificationMethod>, random: RandomSource
    ) throws(VerificationCancelCode) -> [Action]? {
        guard direction == .outgoing else { throw .unexpectedMessage }
        switch phase {
        case .requested:
            guard keys.key(of: device) != nil else { return nil }  // nobody has asked it
            (self.device, peerMethods) = (device, methods)
            guard agreesOn(.sas) || canShowOrScan else { throw .unknownMethod }
            phase = .ready(code(with: device, random))
            let others = keys.otherDevices.map(\.id).filter { !$0.isExactly(device) }
            guard id.roomId == nil, !others.isEmpty else { return [] }
            return [.send(cancelEvent(.accepted), to: others)]
        case .offered, .ready, .sas, .scanned, .reciprocated, .verified, .done, .cancelled:
            guard self.device?.isExactly(device) == true else { return nil }  // it is told that another was first
            throw .unexpectedMessage
        }
    }

    /// In a room: our own user's events come back, those of other devices among them.
    mutating func ownDevice(_ device: String?, sent type: VerificationEventType) {
        guard direction == .incoming, id.roomId != nil else { return }
        let isMine = device?.isExactly(me.device) == true
        switch phase {
        case .requested:
            if type == .cancel { end(.user) } else if type == .ready || type == .start, !isMine { end(.accepted) }
        case .ready, .scanned: noteReady(isMine: isMine, type)
        case .sas(let exchange, _): if exchange.isOnlyStarted { noteReady(isMine: isMine, type) }
        case .offered, .reciprocated, .verified, .done, .cancelled: break
        }
    }

    /// Of two devices that answer at once the one takes part whose answer comes first in the room.
    private mutating func noteReady(isMine: Bool, _ type: VerificationEventType) {
        guard type == .ready else { return }
        if isMine { isReadySeen = true } else if !isReadySeen { end(.accepted) }
    }

    /// Ends it without a word: another device of our own speaks for us.
    private mutating func end(_ code: VerificationCancelCode) {
        phase = .cancelled(code, byPeer: false)
        hasSentCancel = true
    }

    /// In a room: whether an event comes for the first time.
    mutating func isNew(_ eventId: String) -> Bool {
        eventIds.count < Self.maximumEvents && eventIds.insert(ByteKey(eventId)).inserted
    }

    // MARK: Start

    /// `start` without a request, of a peer that knows of none.
    mutating func offered(_ start: VerificationStart, now: UInt64) throws(VerificationCancelCode) {
        guard case .sas(let offer) = start.method, methods.contains(.sas) else { throw .unknownMethod }
        phase = .offered(offer, start: start.content)
        clock.promptEnd = now + Self.promptPatience
    }

    /// Our user wants to compare. Without a request, for a peer that knows of none, if that comes first.
    mutating func startComparing(now: UInt64) throws(EncryptionError) -> [Action] {
        guard let device else { throw .unexpected }
        switch phase {
        case .ready: guard agreesOn(.sas) else { throw .unexpected }
        case .requested: guard direction == .outgoing else { throw .unexpected }
        case .offered, .sas, .scanned, .reciprocated, .verified, .done, .cancelled: throw .unexpected
        }
        noteStep(now)
        clock.start = now
        var content = JSONWriter()
        content.add("from_device", me.device)
        SASExchange.offer(&content)
        let event = event(.start, content)
        let exchange = SASExchange(
            start: event.content, me: me, peer: DeviceAddress(id.user, device), transaction: id.transaction)
        phase = .sas(exchange, Answers())
        return [.send(event, to: destination)]
    }

    /// Our user has scanned the other side's code.
    ///
    /// - Throws: What a code is refused for that is none, or another one: it may be scanned again.
    mutating func scanned(_ bytes: [UInt8], now: UInt64) throws(EncryptionError) -> [Action] {
        guard case .ready(let own) = phase, agreesOn(.reciprocate), agreesOn(.scanCode), let device else {
            throw .unexpected
        }
        let code = try VerificationQRCode(bytes)
        do throws(EncryptionError) {
            try keys.verify(code, id: id.transaction, device: device, isSameUser: isSameUser)
        } catch .keys {
            return cancel(.keyMismatch, now: now)
        }
        noteStep(now)
        clock.start = now
        phase = .scanned(code: own)
        var content = JSONWriter()
        content.add("from_device", me.device)
        content.add("method", VerificationMethod.reciprocate.rawValue)
        content.add("secret", UnpaddedBase64.encode(code.secret))
        return [send(.start, content)]
    }

    private mutating func started(
        _ start: VerificationStart, now: UInt64, random: RandomSource
    ) throws(VerificationCancelCode) -> [Action]? {
        guard let device, device.isExactly(start.device) else { return nil }  // another device's: not ours to answer
        switch phase {
        case .ready(let code): return try follow(start, code, with: device, now: now, random: random)
        case .sas(let exchange, _) where exchange.isOnlyStarted:
            guard case .sas = start.method else { throw .unexpectedMessage }
            return isOurStartFirst(device) ? nil : try follow(start, nil, with: device, now: now, random: random)
        case .scanned(let code):
            guard case .reciprocate = start.method else { throw .unexpectedMessage }
            return isOurStartFirst(device) ? nil : try follow(start, code, with: device, now: now, random: random)
        case .requested, .offered, .sas, .reciprocated, .verified, .done, .cancelled: throw .unexpectedMessage
        }
    }

    /// Whether of two starts at once ours counts.
    private func isOurStartFirst(_ device: String) -> Bool {
        let (own, other) = isSameUser ? (me.device, device) : (me.user, id.user)
        return own.precedesExactly(other)
    }

    private mutating func follow(
        _ start: VerificationStart, _ code: VerificationQRCode?, with device: String, now: UInt64, random: RandomSource
    ) throws(VerificationCancelCode) -> [Action] {
        switch start.method {
        case .sas(let offer):
            guard agreesOn(.sas) else { throw .unknownMethod }
            return answer(offer, start.content, with: device, now: now, random: random)
        case .reciprocate(let secret):
            guard let code else { throw .unexpectedMessage }
            guard code.isSecret(secret) else { throw .keyMismatch }
            clock.start = now
            phase = .reciprocated
            return []
        }
    }

    private mutating func answer(
        _ offer: SASOffer, _ start: JSONView, with device: String, now: UInt64, random: RandomSource
    ) -> [Action] {
        noteStep(now)
        clock.start = now
        do throws(VerificationCancelCode) {
            let exchange = try SASExchange(
                answering: offer, start: start, me: me, peer: DeviceAddress(id.user, device),
                transaction: id.transaction, random: random)
            guard let acceptance = exchange.acceptance else { return [] }
            phase = .sas(exchange, Answers())
            return [send(.accept, acceptance)]
        } catch {
            return cancel(error, now: now)
        }
    }

    // MARK: What the peer says

    mutating func received(_ message: VerificationMessage, now: UInt64, random: RandomSource) -> [Action] {
        switch phase {
        case .done: return []
        case .verified:
            // A cancel takes nothing back: we have seen the peer's keys.
            if message == .done { phase = .done }
            return []
        case .cancelled: return lateAnswer(message)
        case .requested, .offered, .ready, .sas, .scanned, .reciprocated: break
        }
        do throws(VerificationCancelCode) {
            guard let actions = try take(message, now: now, random: random) else { return [] }
            noteStep(now)
            return actions
        } catch {
            return cancel(error, now: now)
        }
    }

    /// One of several devices declined, another one agrees: it would wait in vain.
    private mutating func lateAnswer(_ message: VerificationMessage) -> [Action] {
        guard case .ready(let device, _) = message, direction == .outgoing, !hasSentCancel, id.roomId == nil,
            keys.key(of: device) != nil
        else { return [] }
        hasSentCancel = true
        return [.send(cancelEvent(.user), to: [device])]
    }

    /// - Returns: Nil for what is passed over.
    private mutating func take(
        _ message: VerificationMessage, now: UInt64, random: RandomSource
    ) throws(VerificationCancelCode) -> [Action]? {
        switch message {
        case .ready(let device, let methods): return try becameReady(device, methods, random: random)
        case .start(let start): return try started(start, now: now, random: random)
        case .accept(let acceptance):
            guard case .sas(var exchange, let answers) = phase else { throw .unexpectedMessage }
            let key = try exchange.accepted(acceptance, random: random)
            phase = .sas(exchange, answers)
            return [sendKey(key)]
        case .key(let key):
            guard case .sas(var exchange, let answers) = phase else { throw .unexpectedMessage }
            let own = try exchange.received(key)
            phase = .sas(exchange, answers)
            return own.map { [sendKey($0)] } ?? []
        case .mac(let content): return try takeCodes(content, now: now)
        case .done: return try becameDone(now: now)
        case .cancel(let code):
            phase = .cancelled(code, byPeer: true)
            return []
        }
    }

    private func sendKey(_ key: Curve25519PublicKey) -> Action {
        var content = JSONWriter()
        content.add("key", key.base64)
        return send(.key, content)
    }

    private mutating func takeCodes(_ content: JSONView, now: UInt64) throws(VerificationCancelCode) -> [Action] {
        guard case .sas(let exchange, var answers) = phase, answers.verified == nil, let device else {
            throw .unexpectedMessage
        }
        let verified = try exchange.verify(content, known: keys.expected(of: device))
        guard has(keys.otherMaster?.base64, verified) || !Self.namesAnotherKey(content, than: verified) else {
            throw .keyMismatch
        }
        answers.verified = verified
        phase = .sas(exchange, answers)
        return finishIfBothAgree(now: now)
    }

    private func has(_ id: String?, _ verified: [String]) -> Bool {
        id.map { id in verified.contains { $0.isExactly("ed25519:" + id) } } ?? false
    }

    /// Whether codes are of a cross-signing key that we don't know the peer by: somebody has told us of another one, or
    /// of none.
    private static func namesAnotherKey(_ content: JSONView, than verified: [String]) -> Bool {
        let prefix = "ed25519:"
        return content["mac"]?.members.contains { id, _ in
            id.utf8.starts(with: prefix.utf8) && !verified.contains { $0.isExactly(id) }
                && (try? Ed25519PublicKey(base64: String(id.dropFirst(prefix.count)))) != nil
        } ?? false
    }

    private mutating func becameDone(now: UInt64) throws(VerificationCancelCode) -> [Action] {
        switch phase {
        case .scanned: return finish(codeProof, isPeerDone: true, now: now)
        case .sas(let exchange, var answers) where exchange.shown != nil:
            answers.isPeerDone = true  // our user is slower
            phase = .sas(exchange, answers)
            return []
        case .reciprocated: return []
        case .requested, .offered, .ready, .sas, .verified, .done, .cancelled: throw .unexpectedMessage
        }
    }

    // MARK: What our user says

    /// Our user sees the same as the other.
    mutating func confirmSame(now: UInt64) throws(EncryptionError) -> [Action] {
        guard case .sas(let exchange, var answers) = phase, !answers.isConfirmed,
            let codes = exchange.codes(of: keys.vouched(by: me))
        else { throw .unexpected }
        noteStep(now)
        answers.isConfirmed = true
        phase = .sas(exchange, answers)
        var content = JSONWriter()
        for (key, value) in codes.members { content.add(key, value) }
        return [send(.mac, content)] + finishIfBothAgree(now: now)
    }

    private mutating func finishIfBothAgree(now: UInt64) -> [Action] {
        guard case .sas(_, let answers) = phase, answers.isConfirmed, let verified = answers.verified, let device else {
            return []
        }
        let proof = Proof(device: has(device, verified), master: has(keys.otherMaster?.base64, verified))
        return finish(proof, isPeerDone: answers.isPeerDone, now: now)
    }

    /// The other side says that it has scanned our code, and our user sees that.
    mutating func confirmScanned(now: UInt64) throws(EncryptionError) -> [Action] {
        guard case .reciprocated = phase else { throw .unexpected }
        return finish(codeProof, isPeerDone: false, now: now)
    }

    /// What a scanned code proves to either side.
    private var codeProof: Proof {
        // Whoever trusts the master key already has seen the other's device.
        isSameUser && keys.trustsOwnMaster ? Proof(device: true) : Proof(master: true)
    }

    private mutating func finish(_ proof: Proof, isPeerDone: Bool, now: UInt64) -> [Action] {
        noteStep(now)
        clock.start = nil  // the peer's `done` has its own time
        phase = isPeerDone ? .done : .verified
        self.proof = proof
        return [.trust(proof), send(.done, JSONWriter())]
    }

    // MARK: Cancel

    mutating func cancel(_ code: VerificationCancelCode, now: UInt64) -> [Action] {
        guard !isFinished else { return [] }
        noteStep(now)
        let event = cancelEvent(code)
        phase = .cancelled(code, byPeer: false)
        hasSentCancel = true
        return [.send(event, to: destination)]
    }

    private func cancelEvent(_ code: VerificationCancelCode) -> VerificationEvent {
        VerificationEvent(type: .cancel, content: id.cancel(code))
    }

    // MARK: Events

    /// Devices that are sent to: before one has answered, all that were asked.
    private var destination: [String] {
        guard id.roomId == nil else { return [] }
        return device.map { [$0] } ?? keys.otherDevices.map(\.id)
    }

    private func send(_ type: VerificationEventType, _ content: JSONWriter) -> Action {
        .send(event(type, content), to: destination)
    }

    private func event(_ type: VerificationEventType, _ content: JSONWriter) -> VerificationEvent {
        var content = content
        id.refer(in: &content)
        return VerificationEvent(type: type, content: content.view)
    }
}
