import CLibcrypto

/// libcrypto. Check ``isReady`` before its first use.
package enum LibCrypto {
    /// The version, such as `OpenSSL 3.0.17 1 Jul 2025`.
    package static var version: String { OpenSSL_version(OPENSSL_VERSION).map { String(cString: $0) } ?? "libcrypto" }

    /// Sets up libcrypto so that it can be used until the very end of the process. Its own clean-up at `exit` would
    /// crash the I/O thread, which is still running. Has no effect if the program used OpenSSL before.
    package static let isReady = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
