import Basics
import JSONBytes

/// A verification of another device or user. A value without network, clock or records.
package struct Verification: Sendable, Identifiable {
    /// An action to perform after a step.
    enum Action: Sendable, Equatable {
        /// - Parameter devices: The other user's devices; empty in a room.
        case send(VerificationEvent, to: [String])
        case trust(Proof)
    }

    /// The keys of the other side that were verified.
    package struct Proof: Sendable, Equatable {
        package var device = false
        /// Whether the master key was verified. For another user, this is the one that counts.
        package var master = false
    }

    private enum Phase: Sendable {
        case requested
        /// `start` arrived without a request. Our user is asked.
        case offered(SASOffer, start: JSONView)
        case ready(VerificationQRCode?)
        case sas(SASExchange, Answers)
        /// - Parameter code: Our own code, which the other side may have scanned at the same time.
        case scanned(code: VerificationQRCode?)
        case reciprocated
        case verified
        case done
        case cancelled(VerificationCancelCode?, byPeer: Bool)
    }

    /// The answers of the two users, in any order.
    private struct Answers: Sendable {
        var isConfirmed = false
        /// The ids of the keys that the peer has proved, once it has sent their codes.
        var verified: [String]?
        /// Whether the peer has sent `done`.
        var isPeerDone = false
    }

    package let id: ID
    package let direction: Direction
    /// The other side's device; `nil` until one has answered.
    package private(set) var device: String?
    /// The verified keys; `nil` until our side is done.
    package private(set) var proof: Proof?
    private(set) var keys: VerificationKeys
    private let me: DeviceAddress
    private let methods: Set<VerificationMethod>
    /// The methods that the other side supports; for our own request, those it has asked for.
    private var peerMethods: Set<VerificationMethod> = []
    private var phase = Phase.requested
    private var clock: Clock
    /// Whether a cancel was sent. It is not repeated.
    private var hasSentCancel = false
    /// In a room: whether the server has ordered our `ready` before any other.
    private var isReadySeen = false
    /// In a room: the ids of the other side's processed events.
    private var eventIds: Set<ByteKey> = []
    private static let maximumEvents = 64

    /// Times in milliseconds since 1970.
    private struct Clock: Sendable {
        /// The time at which a request is no longer shown.
        var promptEnd: UInt64
        var start: UInt64?
        /// The time at which something was last sent or received.
        var lastStep: UInt64
    }

    static let patience: UInt64 = 600_000
    static let promptPatience: UInt64 = 120_000

    /// - Parameters:
    ///   - device: The other side's device, if known. It is among those of the keys.
    ///   - time: The time of the request, as claimed by the requester.
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

    // MARK: Displayed state

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

    /// Whether the result is final.
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

    /// The time at which it ends automatically; `nil` if it has ended.
    var deadline: UInt64? {
        switch phase {
        case .requested, .offered: clock.promptEnd
        case .ready, .sas, .scanned, .reciprocated, .verified:
            min(clock.start.map { $0 + Self.patience } ?? .max, clock.lastStep + Self.patience)
        case .done, .cancelled: nil
        }
    }

    /// The time at which it may be forgotten.
    var expiry: UInt64 { clock.lastStep + 2 * Self.patience }

    mutating func timePassed(now: UInt64) -> [Action] {
        guard let deadline, now >= deadline else { return [] }
        switch phase {
        case .verified:
            phase = .done  // the other side need not send anything
            return []
        // Other devices of ours may still be asked.
        case .requested where direction == .incoming:
            phase = .cancelled(.timeout, byPeer: false)
            return []
        case .requested, .offered, .ready, .sas, .scanned, .reciprocated: return cancel(.timeout, now: now)
        case .done, .cancelled: return []
        }
    }

    private mutating func noteStep(_ now: UInt64) { clock.lastStep = max(clock.lastStep, now) }

    // MARK: Request and ready

    /// Sends our own request. In a room it is sent before this value is created, since its event is the id.
    mutating func request(now: UInt64) -> [Action] {
        var content = JSONWriter()
        Self.request(&content, device: me.device, methods)
        content.add("timestamp", json: "\(now)")
        return [send(.request, content)]
    }

    /// Adds the members of a request.
    static func request(_ content: inout JSONWriter, device: String, _ methods: Set<VerificationMethod>) {
        content.add("from_device", device)
        content.add("methods", json: list(methods))
    }

    private static func list(_ methods: Set<VerificationMethod>) -> String {
        "[" + methods.map { "\"\($0.rawValue)\"" }.sorted().joined(separator: ",") + "]"
    }

    /// Handles a request from the other side.
    ///
    /// - Returns: Whether the two sides share a method.
    mutating func requested(_ methods: Set<VerificationMethod>) -> Bool {
        peerMethods = methods
        return agreesOn(.sas) || canShowOrScan
    }

    private var canShowOrScan: Bool {
        agreesOn(.reciprocate) && (agreesOn(.showCode) || agreesOn(.scanCode))
    }

    /// Accepts a request for our user.
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

    /// In a room, where the devices are not chosen: adds an answering device that was unknown at the request.
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
            guard keys.key(of: device) != nil else { return nil }  // it was not asked
            (self.device, peerMethods) = (device, methods)
            guard agreesOn(.sas) || canShowOrScan else { throw .unknownMethod }
            phase = .ready(code(with: device, random))
            let others = keys.otherDevices.map(\.id).filter { !$0.isExactly(device) }
            guard id.roomId == nil, !others.isEmpty else { return [] }
            return [.send(cancelEvent(.accepted), to: others)]
        case .offered, .ready, .sas, .scanned, .reciprocated, .verified, .done, .cancelled:
            guard self.device?.isExactly(device) == true else { return nil }  // it is notified that another was first
            throw .unexpectedMessage
        }
    }

    /// In a room: handles an event of our own user, which may come from another device.
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

    /// If two devices answer at once, the one whose answer comes first in the room takes part.
    private mutating func noteReady(isMine: Bool, _ type: VerificationEventType) {
        guard type == .ready else { return }
        if isMine { isReadySeen = true } else if !isReadySeen { end(.accepted) }
    }

    /// Ends the verification silently: another device of ours has taken over.
    private mutating func end(_ code: VerificationCancelCode) {
        phase = .cancelled(code, byPeer: false)
        hasSentCancel = true
    }

    /// In a room: returns whether an event arrives for the first time.
    mutating func isNew(_ eventId: String) -> Bool {
        eventIds.count < Self.maximumEvents && eventIds.insert(ByteKey(eventId)).inserted
    }

    // MARK: Start

    /// Handles `start` without a request, from a peer that does not support requests.
    mutating func offered(_ start: VerificationStart, now: UInt64) throws(VerificationCancelCode) {
        guard case .sas(let offer) = start.method, methods.contains(.sas) else { throw .unknownMethod }
        phase = .offered(offer, start: start.content)
        clock.promptEnd = now + Self.promptPatience
    }

    /// Starts the comparison for our user. It comes first, without a request, if the peer does not support requests.
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

    /// Handles a code of the other side that our user has scanned.
    ///
    /// - Throws: The error of an invalid code or that of another verification. The user can scan again.
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

    /// Returns whether our start wins if both sides start at once.
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

    // MARK: Messages from the peer

    mutating func received(_ message: VerificationMessage, now: UInt64, random: RandomSource) -> [Action] {
        switch phase {
        case .done: return []
        case .verified:
            // A cancel no longer changes the result: we have seen the peer's keys.
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

    /// Cancels for a device that agrees after another one has declined, and would otherwise wait in vain.
    private mutating func lateAnswer(_ message: VerificationMessage) -> [Action] {
        guard case .ready(let device, _) = message, direction == .outgoing, !hasSentCancel, id.roomId == nil,
            keys.key(of: device) != nil
        else { return [] }
        hasSentCancel = true
        return [.send(cancelEvent(.user), to: [device])]
    }

    /// - Returns: `nil` if the message is ignored.
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

    /// Returns whether the codes include a cross-signing key that we don't know for the peer: we were given another
    /// one, or none.
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

    // MARK: Answers of our user

    /// Confirms that our user sees the same as the other.
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

    /// Confirms that our user sees that the other side has scanned our code.
    mutating func confirmScanned(now: UInt64) throws(EncryptionError) -> [Action] {
        guard case .reciprocated = phase else { throw .unexpected }
        return finish(codeProof, isPeerDone: false, now: now)
    }

    /// The keys that a scanned code proves to either side.
    private var codeProof: Proof {
        // The side that already trusts the master key has seen the other's device.
        isSameUser && keys.trustsOwnMaster ? Proof(device: true) : Proof(master: true)
    }

    private mutating func finish(_ proof: Proof, isPeerDone: Bool, now: UInt64) -> [Action] {
        noteStep(now)
        clock.start = nil  // the peer's `done` has its own time-out
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

    /// The devices to send to: all that were asked, until one has answered.
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
