import CurlTransport
package import Transport

extension PusherConnection {
    /// The key that the server shows, whether or not its certificate is trusted, as something to pin. Nil without TLS, or if
    /// the server shows none within `timeout`. It takes a connection of its own, over which nothing is sent.
    package func serverKey(timeout: Duration) async -> PublicKeyPin? {
        let url = url
        guard url.hasPrefix("wss:") else { return nil }
        return try? await HTTPClient.key(
            of: "https" + url.dropFirst(3).prefix { $0 != "?" }, options: options.network, timeout: timeout)
    }
}
