import Basics

/// Options for connections, the same for WebSockets and HTTP requests.
package struct NetworkOptions: Hashable, Sendable, Confidential {
    /// A PEM file of certificate authorities to trust instead of the system's.
    package var caFile: String?
    /// `http://`, `https://`, `socks5://` or `socks5h://` with optional `user:password@`. If nil, the environment
    /// variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` apply. If empty, no proxy is used, whatever
    /// they contain.
    package var proxy: String?

    /// The PEM text of an additional trusted certificate, of a server or an authority. It must not have expired and
    /// must match the host.
    package var trustedCertificate: String?

    /// The only accepted key of the server. With a pinned key, the certificate's issuer, name and dates are not
    /// checked, and connections without TLS are refused. A proxy's certificate is checked as usual.
    package var pinnedKey: PublicKeyPin?

    /// The addresses of one host, used instead of a look-up, as `host:port:address,address` (`CURLOPT_RESOLVE`). For
    /// tests.
    package var addresses: String?

    package init(caFile: String? = nil, proxy: String? = nil, pinnedKey: PublicKeyPin? = nil) {
        self.caFile = caFile
        self.proxy = proxy
        self.pinnedKey = pinnedKey
    }

    /// Never contains the proxy, which may include a password.
    package var description: String { "network options" }
}
