import Basics
import Glibc
import NIOCore
import Transport

/// The reason why a server did not start or a call failed.
public struct PusherMockServerError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of failure.
    @nonexhaustive
    public enum Code: Hashable, Sendable {
        case invalidConfiguration
        /// A script is malformed; the message names the step.
        case invalidScript
        /// The certificate cannot be read, or is invalid.
        case certificate
        /// The private key cannot be read, is invalid or encrypted, or belongs to another certificate.
        case privateKey
        /// This build has no TLS: the package trait `MockServerTLS` is off.
        case tlsUnavailable
        /// Another program uses the port. Port 0 picks any free one.
        case portInUse
        /// The system reserves the port for privileged programs, like those below 1024.
        case portNotPermitted
        /// The host is not an address of this machine, or its name cannot be resolved.
        case addressUnavailable
        /// The address cannot be bound for another reason.
        case bind
        /// No open connection has this socket id.
        case unknownConnection
        case unknownApp
    }

    /// The kind of failure.
    public let code: Code
    /// A description for people, which names the affected object.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = PeerText(message).description
    }

    /// The message.
    public var description: String { message }
}

extension PusherMockServerError {
    /// Returns the error for an address that cannot be bound, from an error of the system or NIO.
    static func cannotListen(on host: String, port: Int, because error: any Error) -> Self {
        let what = "cannot listen on \(host.contains(":") ? "[\(host)]" : host):\(port)"
        guard let code = (error as? IOError)?.errnoCode else {
            let isUnknown = error is SocketAddressError.UnknownHost || error is SocketAddressError
            return isUnknown
                ? Self(.addressUnavailable, "\(what): no address is known for this host")
                : Self(.bind, "\(what): \(error)")
        }
        switch code {
        case EADDRINUSE: return Self(.portInUse, "\(what): another program uses this port")
        case EACCES, EPERM: return Self(.portNotPermitted, "\(what): only privileged programs may use this port")
        case EADDRNOTAVAIL, EAFNOSUPPORT:
            return Self(.addressUnavailable, "\(what): this machine does not have the address")
        case _: return Self(.bind, "\(what): \(String(cString: strerror(code)))")
        }
    }
}
