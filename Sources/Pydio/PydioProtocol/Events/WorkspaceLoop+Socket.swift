package import Basics
package import Realtime
import Transport

/// The WebSocket (section 9). It is considered working once it has answered a ping or delivered data: a server that
/// refuses a client may close a connection only after opening it, and never acknowledges a registration.
extension WorkspaceLoop {
    /// Returns whether data of the WebSocket `id` counts.
    package func isReceiving(from id: ConnectionMachine.TransportID) -> Bool { socket.isReceiving(from: id) }

    /// The WebSocket whose messages count, if any.
    var openSocket: ConnectionMachine.TransportID? {
        socket.transport.flatMap { socket.isReceiving(from: $0) ? $0 : nil }
    }

    /// Handles received data, or an answered ping.
    ///
    /// - Parameters:
    ///   - isProof: Whether it proves that the registration works: bytes alone may come from any server.
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

    /// Handles the end of the WebSocket.
    package mutating func socketEnded(_ id: ConnectionMachine.TransportID, now: MonotonicInstant) -> [Action] {
        let orders = socket.transportEnded(id, disposition: .backOff(atLeast: .zero), now: now)
        return carryOutSocket(orders, now: now) + proceed(now: now)
    }

    /// Handles unreadable data: something was missed.
    package mutating func socketMissed(_ id: ConnectionMachine.TransportID, now: MonotonicInstant) -> [Action] {
        guard socket.isReceiving(from: id) else { return [] }
        switch messenger {
        case .mailbox: return []
        case .handingOver:
            // It may have happened after the last request to the mailbox: once that is answered, it is a gap.
            messenger = .mailbox
            return []
        case .socket:
            // The mailbox counts until the state is known again; then the socket takes over again.
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
                // Report it once, until it works again: polls replace it.
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

    /// Returns to the mailbox.
    mutating func handBack() -> [Action] {
        guard isSocketLive else { return [] }
        messenger = .mailbox
        // The mailbox was abandoned, and changes until it is consumed again may be lost.
        if !readsFeed { knowledge.missed(isGap: true) }
        return [.socketHandsBack]
    }

    /// Ends the WebSocket for good.
    mutating func endSocket() -> [Action] {
        handBack()
            + socket.shutDown().compactMap { order in
                if case .drop(let id) = order { .dropSocket(id) } else { nil }
            }
    }
}
