import CurlTransport
import PydioProtocol
import Realtime
import Transport

/// The WebSocket.
extension WorkspaceDriver {
    func liveSocket(_ id: ConnectionMachine.TransportID) -> WebSocketConnection? {
        socket?.id == id ? socket?.connection : nil
    }

    func openSocket(_ id: ConnectionMachine.TransportID, _ webSocket: WorkspaceServices.WebSocket) {
        model.socketOpened()
        frames.clear()
        socketError = nil
        do {
            let request = try requests.client.webSocketRequest(webSocket)
            let connection = WebSocketConnection(request, options: requests.client.options.network) {
                [weak self] event in
                self?.received(event, from: id)
            }
            socket = (id, connection)
            connection.start()
        } catch {
            socketError = error as? TransportError
            NetworkActor.execute { self.carryOut(self.loop.socketEnded(id, now: .now)) }
        }
    }

    private func received(_ event: WebSocketConnection.Event, from id: ConnectionMachine.TransportID) {
        guard let connection = liveSocket(id) else { return }
        switch event {
        case .reached: break
        case .opened:
            do throws(TransportError) {
                try connection.send(text: Array("register:\(requests.workspaceId)".utf8))
                // The only answer that there will be, if nothing happens.
                connection.ping()
            } catch {
                connection.drop()
                ended(id, error)
            }
        case .received(let messages, _, _):
            if !messages.isEmpty { received(messages, from: id) } else { heard(id) }
        case .pong: heard(id)
        case .closed(let closure): ended(id, closure.error)
        }
    }

    private func heard(_ id: ConnectionMachine.TransportID) {
        carryOut(loop.socketHeard(id, now: .now))
        heard()
    }

    private func ended(_ id: ConnectionMachine.TransportID, _ error: TransportError?) {
        socketError = error
        socket = nil
        carryOut(loop.socketEnded(id, now: .now))
    }

    private func received(_ messages: WebSocketMessages, from id: ConnectionMachine.TransportID) {
        var news: [ChannelMessage] = []
        var isMissing = false
        for message in messages {
            switch message {
            case .text(let bytes):
                switch frames.received(bytes) {
                case .messages(let messages): news += messages
                case .incomplete: break
                case .lost(let messages):
                    isMissing = true
                    news += messages
                }
            case .binary: break
            case .oversized: isMissing = true
            }
        }
        let taken = model.socketReceived(news, now: .now)
        take(taken)
        carryOut(
            loop.socketHeard(id, isWoken: taken.isWoken, isStale: taken.isRegistryStale, now: .now))
        if isMissing { carryOut(loop.socketMissed(id, now: .now)) }
        heard()
    }
}

extension PydioClient {
    /// The session's cookies go to the server's own host alone, and not in the clear where it speaks TLS.
    fileprivate func webSocketRequest(_ webSocket: WorkspaceServices.WebSocket) throws -> WebSocketRequest {
        let server = try operations().authorization.connection.server
        let pass = try webSocketPass()
        var request = WebSocketRequest(
            url: webSocket.url, fields: ["User-Agent": options.userAgent], maximumMessageSize: SocketFrames.maximumSize,
            oversizedMessages: .discard)
        guard webSocket.isSecure || !server.isSecure else {
            throw TransportError(.invalidRequest, "it is not encrypted, though the server is: nothing was sent")
        }
        if let query = pass.query {
            request.url += "?" + query
        } else {
            guard webSocket.host.lowercased() == server.host.lowercased() else {
                throw TransportError(
                    .invalidRequest, "it is on another host than the server, which may not have the session's cookies")
            }
            request.fields["Cookie"] = pass.cookies
        }
        return request
    }
}
