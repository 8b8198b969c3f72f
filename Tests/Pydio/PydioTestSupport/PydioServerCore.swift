import Basics
import NIOCore
import NIOWebSocket

/// Connects the connections to the server's state, and acts on its changes.
final class PydioServerCore: Sendable {
    typealias Gate = @Sendable (FakePydioRequest) -> FakePydioAnswer?

    let state: Lock<ServerState>
    let connections = Connections()
    /// WebSockets by their numbers.
    let sockets = Lock<[Int: any Channel]>([:])
    private let gate = Lock<Gate?>(nil)
    private let captchaListener = Lock<(@Sendable (String) -> Void)?>(nil)
    /// Answers that are held back.
    private let held = Lock<[EventLoopPromise<Void>]>([])

    init(_ configuration: FakePydioServer.Configuration) { state = Lock(ServerState(configuration)) }

    func onCaptcha(_ listener: @escaping @Sendable (String) -> Void) { captchaListener.withLock { $0 = listener } }
    func setGate(_ gate: Gate?) { self.gate.withLock { $0 = gate } }

    /// Sends the answer on the event loop, at once or after its release.
    func answer(
        _ request: FakePydioRequest, on eventLoop: any EventLoop, _ completion: @escaping (FakePydioAnswer) -> Void
    ) {
        let (fault, basePath) = state.withLock { state in
            state.record(request)
            return (state.faults.take(request.action), state.configuration.basePath)
        }
        if let answer = gate.withLock({ $0 })?(request) { return completion(answer) }
        if let answer = fault?.replacement(basePath: basePath) { return completion(answer) }
        guard fault?.isHold == true else { return completion(carryOut(request, fault)) }
        let promise = eventLoop.makePromise(of: Void.self)
        held.withLock { $0.append(promise) }
        promise.futureResult.assumeIsolated().whenComplete { _ in completion(self.carryOut(request, fault)) }
    }

    private func carryOut(_ request: FakePydioRequest, _ fault: FakePydioServer.Fault?) -> FakePydioAnswer {
        let (answer, code) = state.withLock { state in
            let answer = state.answer(to: request)
            return (answer, state.captchaCode)
        }
        deliver()
        if let code, request.action == Action.getCaptcha.rawValue { captchaListener.withLock { $0 }?(code) }
        return fault?.applied(to: answer) ?? answer
    }

    /// Sends pending messages of the state on WebSockets.
    func deliver() {
        // The frames of two threads' messages must not mix, and an event loop's own frames must not overtake others.
        sockets.withLock { sockets in
            let frames = state.withLock { state in
                defer { state.outbox = [] }
                return state.outbox.flatMap { message in state.frames(of: message.text).map { (message.peer, $0) } }
            }
            for (peer, text) in frames {
                guard let channel = sockets[peer] else { continue }
                channel.eventLoop.execute {
                    channel.writeAndFlush(
                        WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: text)), promise: nil)
                }
            }
        }
    }

    var heldCount: Int { held.withLock { $0.count } }

    func release() {
        let promises = held.withLock { held in
            defer { held = [] }
            return held
        }
        for promise in promises { promise.succeed() }
    }
}
