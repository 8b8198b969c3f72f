import Basics
import JSONBytes
import MatrixEncryption
import MatrixProtocol

/// Sends the requests of a session's encryption machine to the homeserver.
///
/// The machine decides what to send, when and how often. Each of its requests is pending only once.
final class CryptoDriver: Sendable {
    private struct State {
        var isDue = false
        var isRunning = false
        var isClosed = false
        var answers = 0
        var waiters: [UUID: Waiter] = [:]
        /// Fires at the time of the next retry.
        var timer: Task<Void, Never>?
    }

    private struct Waiter {
        let continuation: CheckedContinuation<Void, Never>
        let isOver: @Sendable (State) -> Bool
    }

    /// How long to leave a failing store alone.
    private static let storePause = Duration.seconds(5)

    private let state = Lock(State())
    private let core = Lock(WeakCore())

    private struct WeakCore: Sendable {
        weak var core: SessionCore?
    }

    func attach(to core: SessionCore) { self.core.withLock { $0.core = core } }

    func close() {
        let (waiters, timer) = state.withLock { state in
            defer { (state.waiters, state.timer) = ([:], nil) }
            state.isClosed = true
            return (Array(state.waiters.values), state.timer)
        }
        timer?.cancel()
        for waiter in waiters { waiter.continuation.resume() }
    }

    // MARK: Requests

    /// Sends what the machine may have to send.
    func wake() {
        guard core.withLock({ $0.core })?.account.encrypts == true else { return }
        let begins = state.withLock { state in
            state.isDue = true
            guard !state.isRunning, !state.isClosed else { return false }
            state.isRunning = true
            return true
        }
        if begins { Task { self.run() } }
    }

    /// Called when the homeserver answers again: sends everything that waits for the end of a pause.
    func retryNow() {
        Task {
            guard let core = core.withLock({ $0.core }), core.account.encrypts else { return }
            do throws(MatrixError) {
                try core.cryptoCommand { machine, _ in machine.retryNow() }
            } catch {
                core.report(encryptionFailure: error)
            }
        }
    }

    private func run() {
        while goesOn() {
            guard let core = core.withLock({ $0.core }) else { continue }
            do throws(MatrixError) {
                let (requests, retry) = try core.encryption { machine, turn, _, _ in
                    try machine.timePassed(&turn)
                    let requests = try machine.requests(&turn)
                    return (requests, [machine.nextRetry, machine.nextDeadline].compactMap(\.self).min())
                }
                for request in requests { Task { await self.perform(request) } }
                schedule(retry.map { Duration.milliseconds(Int64(clamping: $0) - Int64(clamping: AccessTokens.now)) })
            } catch {
                core.report(encryptionFailure: error)
                schedule(Self.storePause)
            }
        }
    }

    private func goesOn() -> Bool {
        change { state in
            state.isRunning = state.isDue && !state.isClosed
            state.isDue = false
            return state.isRunning
        }
    }

    /// Changes the state, and resumes the waiters whose condition is met.
    private func change<Value>(_ body: (inout State) -> Value) -> Value {
        let (value, over) = state.withLock { state in
            let value = body(&state)
            let over = state.waiters.filter { $0.value.isOver(state) }
            for id in over.keys { state.waiters[id] = nil }
            return (value, over.values)
        }
        for waiter in over { waiter.continuation.resume() }
        return value
    }

    private func schedule(_ pause: Duration?) {
        let timer = pause.map { pause in
            Task {
                guard (try? await Task.sleep(for: max(pause, .milliseconds(10)))) != nil else { return }
                self.wake()
            }
        }
        let old = state.withLock { state in
            defer { state.timer = state.isClosed ? nil : timer }
            return state.isClosed ? timer : state.timer
        }
        old?.cancel()
    }

    private func perform(_ request: CryptoRequest) async {
        guard let rest = core.withLock({ $0.core })?.rest else { return }
        let result: Result<JSONView, any Error>
        do {
            let answer =
                switch request.call {
                case .sendToRoom(let roomId, let type, let transactionId):
                    try await sendToRoom(roomId, type, transactionId, body: request.body)
                case .uploadKeys, .queryKeys, .claimKeys, .sendToDevice, .uploadSignatures, .checkBackup, .makeBackup,
                    .deleteBackup, .uploadRoomKeys, .downloadRoomKeys, .downloadRoomKey:
                    try await rest.json(APICall(request))
                }
            result = .success(answer)
        } catch {
            result = .failure(error)
        }
        while true {
            guard let core = core.withLock({ $0.core }), !state.withLock({ $0.isClosed }) else { return }
            do throws(MatrixError) {
                try core.encryption { machine, turn, _, _ in
                    switch result {
                    case .success(let answer): try machine.answered(request.id, answer, &turn)
                    case .failure(let error):
                        try machine.failed(
                            request.id, isFinal: Self.isFinal(error), code: Self.code(of: error),
                            retryAfter: Self.retryAfter(error), &turn)
                    }
                }
                break
            } catch {
                // The answer must not be lost: the machine would keep waiting for it.
                core.report(encryptionFailure: error)
                guard (try? await Task.sleep(for: Self.storePause)) != nil else { return }
            }
        }
        wake()  // first: waiters must not see a pause between the answer and what follows from it
        change { $0.answers += 1 }
    }

    /// Sends an event of a verification, encrypted if the room is.
    private func sendToRoom(
        _ roomId: String, _ type: String, _ transactionId: String, body: String
    ) async throws -> JSONView {
        guard let core = core.withLock({ $0.core }) else { throw MatrixError.sessionClosed }
        let (sentType, content) = try await core.encryptedForVerification(type, body, roomId)
        let id = try await core.rest.sendCheckedEvent(
            toRoom: roomId, eventType: MXEventType(identifier: sentType),
            content: EncodedJSON(text: Array(content.utf8)), transactionId: transactionId)
        var answer = JSONWriter()
        answer.add("event_id", id)
        return answer.view
    }

    /// Errors that may pass: the server may learn the call or gain space, or the user may agree to its terms.
    private static let passing: Set<String> = [
        kMXErrCodeStringUnrecognized, kMXErrCodeStringResourceLimitExceeded, kMXErrCodeStringConsentNotGiven,
    ]

    /// Returns whether the server would answer the same again.
    static func isFinal(_ error: any Error) -> Bool {
        switch (error as? MatrixError)?.code {
        case .roomNotFound, .encryptionNotAvailable, .identityChanged, .invalidArgument: return true
        default: break
        }
        guard let error = error as? MXError, !passing.contains(error.errcode) else { return false }
        return (400..<500).contains(error.status) && ![401, 408, 429].contains(error.status)
    }

    /// Returns the server's error code, or an empty string if it sent none.
    static func code(of error: any Error) -> String {
        guard let error = error as? MXError else { return "" }
        return error.status == 413 ? CryptoMachine.tooLarge : error.errcode  // proxies have no codes
    }

    /// Returns the delay in milliseconds, at most a day.
    private static func retryAfter(_ error: any Error) -> UInt64 {
        let wait = min((error as? MXError)?.retryAfter ?? .zero, .seconds(86_400))
        return UInt64(max(wait / .milliseconds(1), 0))
    }

    // MARK: Waiting

    /// Waits until nothing is pending, or until the deadline.
    func settle(until deadline: ContinuousClock.Instant) async {
        while ContinuousClock.now < deadline, !Task.isCancelled {
            await wait(until: deadline) { !$0.isRunning }
            let answers = answers
            guard let core = core.withLock({ $0.core }), !state.withLock({ $0.isClosed }),
                core.account.opened({ $0.crypto?.isBusy ?? false }) ?? false
            else { return }
            await waitForAnswers(after: answers, until: deadline)
        }
    }

    /// The number of answers received. Read it before checking the condition to wait for.
    var answers: Int { state.withLock { $0.answers } }

    /// Waits until there are more answers than `answers`, until the deadline, or until the task is cancelled.
    func waitForAnswers(after answers: Int, until deadline: ContinuousClock.Instant) async {
        await wait(until: deadline) { $0.answers > answers }
    }

    private func wait(
        until deadline: ContinuousClock.Instant, _ isOver: @escaping @Sendable (State) -> Bool
    ) async {
        let id = UUID()
        let timer = Task {
            try? await Task.sleep(until: deadline, clock: .continuous)
            self.endWait(id)
        }
        defer { timer.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOverNow = state.withLock { state in
                    let isOverNow = isOver(state) || state.isClosed || Task.isCancelled
                    if !isOverNow { state.waiters[id] = Waiter(continuation: continuation, isOver: isOver) }
                    return isOverNow
                }
                // The deadline may have passed before the wait began.
                if isOverNow { continuation.resume() } else if ContinuousClock.now >= deadline { endWait(id) }
            }
        } onCancel: {
            endWait(id)
        }
    }

    private func endWait(_ id: UUID) {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume()
    }
}

extension APICall {
    /// Creates a call with the same bytes each time: encrypted content is resent as it is.
    fileprivate init(_ request: CryptoRequest) {
        let body = request.body.isEmpty ? nil : EncodedJSON(text: Array(request.body.utf8))
        switch request.call {
        case .checkBackup: self.init(.get, "v3/room_keys/version")
        case .makeBackup: self.init(.post, "v3/room_keys/version", body: body)
        case .deleteBackup(let version): self.init(.delete, "v3/room_keys/version/\(version)")
        case .uploadRoomKeys(let version):
            self.init(.put, "v3/room_keys/keys", query: [("version", version)], body: body)
        case .downloadRoomKeys(let version): self.init(.get, "v3/room_keys/keys", query: [("version", version)])
        case .downloadRoomKey(let version, let roomId, let sessionId):
            self.init(.get, "v3/room_keys/keys/\(roomId)/\(sessionId)", query: [("version", version)])
        case .sendToRoom(let roomId, let type, let transactionId):
            self.init(.put, "v3/rooms/\(roomId)/send/\(type)/\(transactionId)", body: body, hasTransactionId: true)
        case .uploadKeys: self.init(.post, "v3/keys/upload", body: body)
        case .queryKeys: self.init(.post, "v3/keys/query", body: body)
        case .claimKeys: self.init(.post, "v3/keys/claim", body: body)
        case .sendToDevice(let type, let transactionId):
            self.init(.put, "v3/sendToDevice/\(type)/\(transactionId)", body: body, hasTransactionId: true)
        case .uploadSignatures: self.init(.post, "v3/keys/signatures/upload", body: body)
        }
    }
}
