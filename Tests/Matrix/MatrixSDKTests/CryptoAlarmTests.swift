import EncryptionTestSupport
import Foundation
import MatrixEncryption
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import TestSupport
import Testing

/// Encryption problems that the application must learn of.
@Suite(.overSockets)
struct CryptoAlarmTests {
    /// A session with a file store.
    private func session(
        _ home: LyingHomeserver, in folder: URL, _ log: LogLines
    ) throws -> MXSession {
        var options = MXSessionOptions()
        options.enableCrypto = true
        options.logger = log.logger
        let session = MXSession(matrixRestClient: MXRestClient.make(home.server), options: options)
        return session
    }

    @Test func aStoreThatWasCopiedIsTold_once() async throws {
        let home = try LyingHomeserver(on: try await FakeHomeserver.start())
        let folder = FileManager.default.temporaryDirectory.appending(path: "copied-\(UUID().uuidString)")
        let copy = folder.appendingPathExtension("copy")
        defer { for folder in [folder, copy] { try? FileManager.default.removeItem(at: folder) } }
        for (folder, isTold) in [(folder, false), (copy, true), (copy, false)] {
            let log = LogLines()
            let session = try session(home, in: folder, log)
            try session.setStore(MXFileStore(folder: folder))
            try await session.start()
            #expect(session.crypto?.deviceEd25519Key != nil)
            await session.settleEncryption()
            #expect(log.contains("the store is a copy") == isTold)
            session.close()
            if !isTold, folder != copy { try FileManager.default.copyItem(at: folder, to: copy) }
        }
    }
}
