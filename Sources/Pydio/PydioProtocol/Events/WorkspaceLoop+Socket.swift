package import Basics
package import Realtime
import Transport

/// The WebSocket (section 9). It has proved itself when it has answered a ping or brought something: a server that refuses
/// a client may close a connection only after opening it, and never acknowledges what is registered.
extension WorkspaceLoop {
    /// Whether what the WebSocket `id` brings counts.
    package func isReceiving(from id: ConnectionMachine.TransportID) -> Bool { socket.isReceiving(from: id) }

    /// The WebSocket whose messages count, if there is one.
    var openSocket: ConnectionMachine.TransportID? {
        socket.transport.flatMap { socket.isReceiving(from: $0) ? $0 : nil }
    }

    /// Something came, or a ping was answered.
    ///
    /// - Parameters:
    ///   - isProof: Whether it shows that what is registered is heard: bytes alone may be those of any server.
    ///   - isWoken: Whether nodes have changed.
    package mutating func socketHeard(
        _ id: ConnectionMachine.TransportID, isProof: Bool = true, isWoken: Bool = false, isStale: Bool = false,
        now: MonotonicInstant
    ) -> [Action] {
        guard socket.isReceiving(from: id) else { return [] }
        var actions: [Action] = []
        if isProof, socket.connectionState == .connecting {
            hasToldOfSocket = false
            actions += carryOutSocket(socket.established(id, activityTimeout: nil, now: now), now: now)
            if isHeld {
                socket.readingPaused(true, now: now)
                actions.append(.pauseSocket(true))
            }
        } else {
            socket.heard(id, now: now)
        }
        if isWoken, readsFeed { needs.changes = true }
        if isStale { needs.discovery = true }
        return actions + proceed(now: now)
    }

    /// It is gone.
    package mutating func socketEnded(_ id: ConnectionMachine.TransportID, now: MonotonicInstant) -> [Action] {
        let orders = socket.transportEnded(id, disposition: .backOff(atLeast: .zero), now: now)
        return carryOutSocket(orders, now: now) + proceed(now: now)
    }

    /// What it brought cannot be read: something was missed.
    package mutating func socketMissed(_ id: ConnectionMachine.TransportID, now: MonotonicInstant) -> [Action] {
        guard socket.isReceiving(from: id) else { return [] }
        switch messenger {
        case .mailbox: return []
        case .handingOver:
            // It may have happened after the mailbox was consumed for the last time: once that is answered, it is a gap.
            messenger = .mailbox
            return []
        case .socket:
            // The mailbox counts until things are known again: then the socket takes over once more.
            let actions = handBack()
            missed(isGap: true)
            return actions + proceed(now: now)
        }
    }

    mutating func openSocketIfNeeded(now: MonotonicInstant) -> [Action] {
        guard configuration.usesWebSocket, services?.webSocket != nil, socket.connectionState == .disconnected else {
            return []
        }
        return carryOutSocket(socket.connect(now: now), now: now)
    }

    mutating func carryOutSocket(_ orders: [ConnectionMachine.Action], now: MonotonicInstant) -> [Action] {
        var actions: [Action] = []
        for order in orders {
            switch order {
            case .open(let id):
                guard let webSocket = services?.webSocket, configuration.usesWebSocket else {
                    _ = socket.shutDown()
                    return actions
                }
                actions.append(.openSocket(id, webSocket))
            case .ping(let id): actions.append(.pingSocket(id))
            case .drop(let id), .close(let id): actions.append(.dropSocket(id))
            case .failed(_, let next):
                // Once, until it works again: polls do in its place.
                guard !hasToldOfSocket else { break }
                hasToldOfSocket = true
                switch next {
                case .retry(let delay): actions.append(.socketFailed(retryAfter: delay))
                case .stop: actions.append(.socketFailed(retryAfter: nil))
                }
            case .changed(let old, _):
                guard old == .connected else { break }
                let wasLive = isSocketLive
                actions += handBack()
                if wasLive { missed(isGap: true) }
            }
        }
        return actions
    }

    /// The mailbox counts again.
    mutating func handBack() -> [Action] {
        guard isSocketLive else { return [] }
        messenger = .mailbox
        // It was given up, and what happens until it is consumed again may be kept nowhere.
        if !readsFeed { knowledge.missed(isGap: true) }
        return [.socketHandsBack]
    }

    /// Nothing is asked any more.
    mutating func endSocket() -> [Action] {
        handBack()
            + socket.shutDown().compactMap { order in
                if case .drop(let id) = order { .dropSocket(id) } else { nil }
            }
    }
}
