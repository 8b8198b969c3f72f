import Glibc
import Testing

@testable import Basics
@testable import Transport

struct LibCryptoTests {
    /// Like the I/O thread, which may still be in a handshake while another thread calls `exit`.
    @Test func libcryptoCanBeUsedWhileTheProcessExits() async {
        await #expect(processExitsWith: .exitCode(7)) {
            // Runs after the handlers that libcrypto registers later.
            atexit {
                guard ClientHandshake.accept(key: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" else {
                    _exit(1)
                }
            }
            _ = ClientHandshake.accept(key: "any")
            exit(7)
        }
    }
}
