import CurlTransport
package import Transport

extension PusherConnection {
    /// Returns the server's key for pinning, whether or not its certificate is trusted; `nil` without TLS, or if the
    /// server presents none within `timeout`. Opens a separate connection, over which nothing is sent.
    package func serverKey(timeout: Duration) async -> PublicKeyPin? {
        let url = url
        guard url.hasPrefix("wss:") else { return nil }
        return try? await HTTPClient.key(
            of: "https" + url.dropFirst(3).prefix { $0 != "?" }, options: options.network, timeout: timeout)
    }
}
