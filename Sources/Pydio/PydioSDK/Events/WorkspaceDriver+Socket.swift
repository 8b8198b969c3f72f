import Basics
import CurlTransport
import PydioProtocol
import Realtime
import Transport

/// The WebSocket.
extension WorkspaceDriver {
    @NetworkActor
    func liveSocket(_ id: ConnectionMachine.TransportID) -> WebSocketConnection? {
        socket?.id == id ? socket?.connection : nil
    }

    @NetworkActor
    func openSocket(_ id: ConnectionMachine.TransportID, _ webSocket: WorkspaceServices.WebSocket) {
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
            ended(id, error as? TransportError)
        }
    }

    @NetworkActor
    private func received(_ event: WebSocketConnection.Event, from id: ConnectionMachine.TransportID) {
        guard let connection = liveSocket(id) else { return }
        switch event {
        case .reached: break
        case .opened:
            do throws(TransportError) {
                try connection.send(text: Array("register:\(requests.workspaceId)".utf8))
                // If nothing happens, this gets the only answer.
                connection.ping()
            } catch {
                connection.drop()
                ended(id, error)
            }
        case .received(let messages, _, _):
            if messages.isEmpty {
                handle { machine, now in machine.socketHeard(id, now: now) }
            } else {
                handle { machine, now in machine.socketReceived(messages, from: id, now: now) }
            }
        case .pong: handle { machine, now in machine.socketAnswered(id, now: now) }
        case .closed(let closure): ended(id, closure.error)
        }
    }

    @NetworkActor
    private func ended(_ id: ConnectionMachine.TransportID, _ error: TransportError?) {
        socketError = error
        socket = nil
        handle { machine, now in machine.socketEnded(id, now: now) }
    }
}

extension PydioClient {
    /// Returns the WebSocket's request. Sends the session's cookies only to the server's own host, and not in the clear
    /// if the server uses TLS.
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
