import Testing
import Transport

struct TransportErrorTests {
    /// A publisher must know whether a retry could publish twice.
    @Test(
        arguments: [
            (.invalidRequest, false), (.couldNotResolve, false), (.couldNotConnect, false), (.proxy, false),
            (.certificateExpired, false), (.certificateUntrusted, false), (.certificateWrongHost, false),
            (.certificateWrongKey, false), (.handshakeRefused(status: 403), false), (.notWebSocket, false),
            (.timedOut, true), (.cancelled, true), (.tls, true), (.protocolViolation(code: 1002), true),
            (.connectionLost, true), (.tooLarge, true), (.file, true),
        ] as [(TransportError.Code, Bool)])
    func aRequestMayHaveArrivedOnlyOnceThereWasAConnection(code: TransportError.Code, mayHave: Bool) {
        #expect(TransportError(code, "").isAfterConnecting == mayHave)
    }

    @Test(
        arguments: [
            (.invalidRequest, .invalidArgument), (.timedOut, .timedOut), (.cancelled, .cancelled),
            (.tooLarge, .tooLarge), (.file, .file), (.couldNotResolve, .network), (.proxy, .network), (.tls, .network),
            (.handshakeRefused(status: 403), .network), (.connectionLost, .network),
        ] as [(TransportError.Code, TransportError.Kind)])
    func aFailureIsOfOneKind(code: TransportError.Code, kind: TransportError.Kind) {
        #expect(TransportError(code, "").kind == kind)
    }

    @Test func itsMessageIsALine() {
        #expect("\(TransportError(.tls, "a\nb\u{1B}"))" == "a b\u{FFFD}")
    }
}
