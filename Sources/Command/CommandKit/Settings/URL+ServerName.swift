package import Foundation
import PusherProtocol

extension URL {
    /// Its host and port, for people.
    package var serverName: String? { host.map { HostAddress.name($0, port) } }
}
