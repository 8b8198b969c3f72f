package import Foundation
import PusherProtocol

extension URL {
    /// The host and port, for messages.
    package var serverName: String? { host.map { HostAddress.name($0, port) } }
}
