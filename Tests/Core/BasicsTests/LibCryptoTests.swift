import Glibc
import Testing

@testable import Basics
@testable import Transport

struct LibCryptoTests {
    /// As the I/O thread does, that is still in a handshake while another thread calls `exit`.
    @Test func libcryptoCanBeUsedWhileTheProcessExits() async {
        await #expect(processExitsWith: .exitCode(7)) {
            // Runs after whatever libcrypto registers later.
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
