import CLibcrypto

/// libcrypto, to be asked for before it is used for the first time.
package enum LibCrypto {
    /// Such as `OpenSSL 3.0.17 1 Jul 2025`.
    package static var version: String { OpenSSL_version(OPENSSL_VERSION).map { String(cString: $0) } ?? "libcrypto" }

    /// Set up so that it can be used to the very end of the process. Its own clean-up at `exit` would pull it from under
    /// the I/O thread, which runs on and would crash. Too late in a program that used OpenSSL itself before.
    package static let isReady = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
