import Basics
import Foundation
import TestSupport
import Testing

/// `matrix keys export`.
@Suite(.overSockets)
struct MatrixKeyFileTests {
    private func export(
        to file: URL, _ scene: EncryptedCommandScene, _ options: String...
    ) async throws -> (status: Int32?, run: CommandRun) {
        let run = try scene.scene.run(
            ["matrix", "keys", "export", file.path, "--password-stdin"] + options, input: "secret\n")
        return (await run.status(), run)
    }

    /// Not even under another name before it is complete.
    @Test func nobodyElseCanReadTheFileAtAnyMoment() async throws {
        let scene = try await EncryptedCommandScene()
        #expect(try await scene.scene.matrix("send", "!r:s", "hi").status == 0)
        let folder = scene.scene.home.appending(path: "export")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "keys.txt")
        try Data("old".utf8).write(to: file)
        let watch = FolderWatch(folder, except: file)
        #expect(try await export(to: file, scene).status == 65)
        #expect(try Data(contentsOf: file) == Data("old".utf8))
        #expect(try await export(to: file, scene, "--force").status == 0)
        #expect(watch.stop() == [])
        #expect(try scene.scene.mode(of: file) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["keys.txt"])
        #expect(try String(contentsOf: file, encoding: .utf8).hasPrefix("-----BEGIN MEGOLM SESSION DATA-----"))
    }

    @Test func aFolderThatIsNotThereIsSaid() async throws {
        let scene = try await EncryptedCommandScene()
        let file = scene.scene.home.appending(path: "nowhere/keys.txt")
        let export = try await export(to: file, scene)
        #expect(export.status == 65)
        #expect(export.run.errors == ["error: \(file.path) cannot be written: No such file or directory"])
    }
}

/// Checks continuously for files that others can read.
private final class FolderWatch: Sendable {
    private let found = Lock<(names: Set<String>, isOver: Bool)>(([], false))
    private let end = DispatchSemaphore(value: 0)

    init(_ folder: URL, except file: URL) {
        Thread.detachNewThread { [found, end] in
            while !found.withLock({ $0.isOver }) {
                for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
                    var status = stat()
                    guard name != file.lastPathComponent, lstat(folder.path + "/" + name, &status) == 0,
                        status.st_mode & 0o077 != 0
                    else { continue }
                    found.withLock { _ = $0.names.insert(name) }
                }
            }
            end.signal()
        }
    }

    /// Stops, and returns the names of such files.
    func stop() -> Set<String> {
        found.withLock { $0.isOver = true }
        end.wait()
        return found.withLock { $0.names }
    }
}
