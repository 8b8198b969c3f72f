import Realtime
import Transport

/// The reason for a connection's failure, before the client knows whether it will retry.
struct ErrorDraft {
    private let kind: PusherError.Kind
    private let code: Int?
    private let message: String
    /// Whether the next attempt would fail in the same way.
    let isHopeless: Bool

    private init(_ kind: PusherError.Kind, code: Int? = nil, _ message: String, isHopeless: Bool = false) {
        self.kind = kind
        self.code = code
        self.message = message
        self.isHopeless = isHopeless
    }

    init(_ closure: WebSocketClosure, wasEstablished: Bool) {
        let code = CloseCode(rawValue: Int(closure.code))
        let words = closure.reason.isEmpty ? code.meaning : "\(code.meaning) (“\(closure.reason.prefix(200))”)"
        if let error = closure.error {
            self.init(
                wasEstablished ? .connectionLost : .couldNotConnect, code: wasEstablished ? code.rawValue : nil,
                error.message, isHopeless: error.code == .invalidRequest)
        } else if code.rawValue >= 4000 {
            self.init(.closedByServer, code: code.rawValue, "the server closed the connection: \(words)")
        } else {
            self.init(
                wasEstablished ? .connectionLost : .couldNotConnect, code: code.rawValue,
                "the server closed the connection: \(words)")
        }
    }

    /// Returns the draft for a `pusher:error` that the close repeats.
    static func announced(code: Int, message: String) -> ErrorDraft {
        let meaning = CloseCode(rawValue: code).meaning
        return ErrorDraft(
            .closedByServer, code: code,
            "the server closed the connection: \(meaning)" + (message.isEmpty ? "" : " (“\(message.prefix(200))”)"))
    }

    /// Returns the draft for a `pusher:error` instead of the handshake.
    static func refused(code: Int, message: String) -> ErrorDraft {
        let meaning = CloseCode(rawValue: code).meaning
        return ErrorDraft(
            .closedByServer, code: code,
            "the server refused the connection: \(meaning)" + (message.isEmpty ? "" : " (“\(message.prefix(200))”)"))
    }

    static func badHandshake(_ reason: String) -> ErrorDraft {
        ErrorDraft(.couldNotConnect, "the server did not open with pusher:connection_established: \(reason)")
    }

    /// - Parameter steps: The completed steps.
    static func connectTimedOut(_ endpoint: Endpoint, after steps: ConnectionSteps) -> ErrorDraft {
        let message =
            if steps.webSocket != nil {
                "\(endpoint.server) opened the WebSocket but did not start the Pusher protocol in time"
            } else if steps.network?.connect != nil {
                "\(endpoint.server) accepted the connection but did not answer the WebSocket handshake in time"
            } else {
                "connecting to \(endpoint.server) took longer than the connect time-out"
            }
        return ErrorDraft(.couldNotConnect, message)
    }

    static func pongTimedOut(_ endpoint: Endpoint) -> ErrorDraft {
        ErrorDraft(.connectionLost, code: 1006, "\(endpoint.server) did not answer a ping in time")
    }

    func error(next: ConnectionMachine.Next) -> PusherError {
        switch next {
        case .retry(let delay):
            PusherError(kind, code: code, message, willRetry: true, retryAfter: delay)
        case .stop(.refused), .stop(.autoReconnectIsOff):
            PusherError(kind, code: code, message)
        case .stop(.attemptsExhausted):
            PusherError(kind, code: code, message + "; giving up after the last attempt allowed")
        }
    }
}
