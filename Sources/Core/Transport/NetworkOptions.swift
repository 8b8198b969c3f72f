import Basics

/// How connections are made; the same for WebSockets and HTTP requests.
package struct NetworkOptions: Hashable, Sendable, Confidential {
    /// A PEM file of certificate authorities to trust instead of the system's store.
    package var caFile: String?
    /// `http://`, `https://`, `socks5://` or `socks5h://` with optional `user:password@`. Nil: the environment
    /// variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` decide. Empty: no proxy whatever they say.
    package var proxy: String?

    /// PEM text of a certificate that is trusted besides: a server's own, or an authority's. It must not have expired, and
    /// must be for the host.
    package var trustedCertificate: String?

    /// The one key that a server may have. With it, neither who signed the certificate, nor its name and dates are looked at,
    /// and a connection without TLS is refused. The certificate of a proxy is checked as without it.
    package var pinnedKey: PublicKeyPin?

    /// Addresses of one host, as `host:port:address,address` (`CURLOPT_RESOLVE`), which is not looked up then. For tests.
    package var addresses: String?

    package init(caFile: String? = nil, proxy: String? = nil, pinnedKey: PublicKeyPin? = nil) {
        self.caFile = caFile
        self.proxy = proxy
        self.pinnedKey = pinnedKey
    }

    /// Never the proxy, which may have a password.
    package var description: String { "network options" }
}
