import Basics
import Foundation
import JSONBytes
import MatrixEncryption
import MatrixProtocol
import MatrixSDK
import MatrixTestSupport
import TestSupport
import Testing

@testable import MatrixKit

@Suite(.overSockets)
@MainActor
struct AttachmentTests {
    private let folder: TemporaryFolder
    private let cache: MediaCache

    init() throws {
        folder = try TemporaryFolder()
        cache = MediaCache(folder: folder.url.appending(path: "cache"))
    }

    private func event(
        _ msgtype: String = "m.image", name: String = "a.png", url: String? = "mxc://s/1", file: String? = nil,
        info: String = "{}"
    ) throws -> MXEvent {
        let source = file.map { #""file":\#($0)"# } ?? #""url":"\#(url ?? "")""#
        let json = #"""
            {"type":"m.room.message","event_id":"$1","room_id":"!r:s","sender":"@b:s","origin_server_ts":1,
            "content":{"msgtype":"\#(msgtype)","body":"\#(name)",\#(source),"info":\#(info)}}
            """#
        return try #require(JSONView(Array(json.utf8)).flatMap { MXEvent(json: $0) })
    }

    private func attachment(_ event: MXEvent, _ scene: KitScene) throws -> MXKAttachment {
        let attachment = try #require(MXKAttachment(event: event, mxSession: scene.session))
        attachment.cache = cache
        return attachment
    }

    private func encrypted(_ clear: [UInt8], on server: FakeHomeserver) -> String {
        var encryptor = AttachmentEncryptor(random: .system)
        let bytes = encryptor.encrypt(clear)
        var file = encryptor.finish()
        file.url = "mxc://s/e"
        server.on("GET", "v1/media/download/s/e", FakeAnswer(body: bytes))
        return file.json.compactText
    }

    // MARK: Downloads

    @Test func whoeverAsksForTheSameFileShareOneDownload_andThenTheCache() async throws {
        let scene = try await KitScene()
        scene.server.on("GET", "v1/media/download/s/1", FakeAnswer(body: [1, 2, 3]).after(.milliseconds(50)))
        let attachments = try (0..<3).map { _ in try attachment(try event(), scene) }
        #expect(attachments[0].cacheFilePath == nil)
        async let first = attachments[0].data()
        async let second = attachments[1].data()
        #expect(try await [first, second] == [Data([1, 2, 3]), Data([1, 2, 3])])
        #expect(try await attachments[2].data() == Data([1, 2, 3]))
        #expect(scene.server.requests("GET", "v1/media/download/s/1").count == 1)
        let path = try #require(attachments[2].cacheFilePath)
        #expect(TemporaryFolder.mode(URL(filePath: path).deletingLastPathComponent()) == 0o700)
        #expect(attachments[2].thumbnailCachePath == nil)
    }

    @Test func aDownloadEndsWhenNobodyWaits_andNotBefore() async throws {
        let scene = try await KitScene()
        scene.server.on("GET", "v1/media/download/s/1", .silence)
        let (one, other) = (try attachment(try event(), scene), try attachment(try event(), scene))
        var failures: [String] = []
        one.getData({ _ in failures.append("no") }) {
            failures.append("one \(($0 as? MatrixError)?.code == .cancelled)")
        }
        other.getData({ _ in failures.append("no") }) {
            failures.append("other \(($0 as? MatrixError)?.code == .cancelled)")
        }
        #expect(await scene.server.hasBeenAsked("GET", "v1/media/download/s/1"))
        one.destroy()
        #expect(await eventually { @MainActor in failures == ["one true"] })
        #expect(cache.downloadCount == 1)
        other.destroy()
        #expect(await eventually { @MainActor in failures == ["one true", "other true"] })
        #expect(cache.downloadCount == 0)
        await #expect(throws: MatrixError.self) { try await one.data() }
    }

    @Test func aFailedDownloadIsTriedAgainByTheNext() async throws {
        let scene = try await KitScene()
        scene.server.on("GET", "v1/media/download/s/1", [.error(404, "M_NOT_FOUND"), FakeAnswer(body: [7])])
        let attachment = try attachment(try event(), scene)
        await #expect(throws: (any Error).self) { try await attachment.data() }
        #expect(try await attachment.data() == Data([7]))
    }

    @Test func progressIsToldInBytes() async throws {
        let scene = try await KitScene()
        scene.server.on("GET", "v1/media/download/s/1", FakeAnswer(body: [UInt8](repeating: 1, count: 300_000)))
        let attachment = try attachment(try event(), scene)
        var last: Int64 = 0
        attachment.onProgress = { last = $0.completed }
        _ = try await attachment.data()
        #expect(last > 0)
    }

    // MARK: The cache

    @Test func theCacheIsBoundedInBytes_andKeepsWhatWasReadLast() async throws {
        let scene = try await KitScene()
        scene.server.on("GET", "v1/media/download/s/*", FakeAnswer(body: [UInt8](repeating: 1, count: 100)))
        cache.maximumSize = 250
        let files = try ["a", "b", "c", "d"].map { try attachment(try event(url: "mxc://s/\($0)"), scene) }
        _ = try await files[0].data()
        _ = try await files[1].data()
        _ = try await files[0].data()
        _ = try await files[2].data()
        #expect(files.map { $0.cacheFilePath != nil } == [true, false, true, false])
        #expect(cache.size == 200)
        // Another process continues where this one stopped.
        let later = MediaCache(folder: folder.url.appending(path: "cache"))
        later.maximumSize = 250
        files[3].cache = later
        _ = try await files[3].data()
        #expect(later.size == 200)
        cache.maximumSize = 50
        await #expect(throws: (any Error).self) {
            try await self.attachment(self.event(url: "mxc://s/e"), scene).data()
        }
        later.clear()
        #expect(files.allSatisfy { $0.cacheFilePath == nil })
    }

    // MARK: Thumbnails

    @Test func theThumbnailOfAClearPictureIsTheServers() async throws {
        let scene = try await KitScene()
        scene.server.on("GET", "v1/media/thumbnail/s/1", FakeAnswer(body: [9]))
        let attachment = try attachment(try event(), scene)
        var got: Data?
        attachment.getThumbnail({ _, data in got = data }, failure: nil)
        #expect(await eventually { @MainActor in got == Data([9]) })
        let request = try #require(scene.server.requests("GET", "v1/media/thumbnail/s/1").first)
        #expect(["width", "height", "method"].map { request.parameter($0) } == ["320", "240", "scale"])
        #expect(attachment.thumbnailCachePath != nil)
    }

    @Test func anEncryptedPictureIsItsOwnThumbnail_ifItIsSmall_whateverItSaysOfItself() async throws {
        let scene = try await KitScene()
        let file = encrypted(Array("clear".utf8), on: scene.server)
        let small = try attachment(try event(file: file, info: #"{"size":5}"#), scene)
        #expect(try await small.thumbnail() == Data("clear".utf8))
        let large = try attachment(try event(file: file, info: #"{"size":2000000}"#), scene)
        await #expect(throws: MatrixError.self) { try await large.thumbnail() }
        let liar = encrypted([UInt8](repeating: 1, count: 1_100_000), on: scene.server)
        let lying = try attachment(try event(file: liar, info: #"{"size":5}"#), scene)
        await #expect(throws: (any Error).self) { try await lying.thumbnail() }
    }

    @Test func anEncryptedThumbnailIsDecrypted_andAFileHasNone() async throws {
        let scene = try await KitScene()
        let file = encrypted(Array("small".utf8), on: scene.server)
        let large = try attachment(
            try event("m.video", file: file, info: #"{"size":2000000,"thumbnail_file":\#(file)}"#), scene)
        #expect(try await large.thumbnail() == Data("small".utf8))
        #expect(large.mxcThumbnailURI == "mxc://s/e")
        let plain = try attachment(try event("m.file", name: "a.txt"), scene)
        var failures = 0
        plain.getThumbnail({ _, _ in failures += 10 }) { _, _ in failures += 1 }
        #expect(await eventually { @MainActor in failures == 1 })
    }

    // MARK: Encrypted files

    @Test func anEncryptedFileIsDecrypted_forTheProcessAlone() async throws {
        let scene = try await KitScene()
        let attachment = try attachment(
            try event(name: "../x.png", file: encrypted(Array("secret".utf8), on: scene.server)), scene)
        #expect(try await attachment.data() == Data("secret".utf8))
        #expect(!FileManager.default.fileExists(atPath: folder.url.appending(path: "cache").path))
        let copy = URL(filePath: try await attachment.decryptToTempFile())
        #expect(copy.lastPathComponent == "x.png")
        #expect(try Data(contentsOf: copy) == Data("secret".utf8))
        #expect(TemporaryFolder.mode(copy) == 0o600)
        #expect(TemporaryFolder.mode(copy.deletingLastPathComponent()) == 0o700)
        cache.clear()
        #expect(attachment.cacheFilePath == nil)
    }

    @Test func aFileThatIsNotWhatWasEncryptedIsRefused() async throws {
        let scene = try await KitScene()
        let file = encrypted(Array("secret".utf8), on: scene.server)
        scene.server.on("GET", "v1/media/download/s/e", FakeAnswer(body: Array("others".utf8)))
        let attachment = try attachment(try event(file: file), scene)
        await #expect(throws: MatrixError.self) { try await attachment.data() }
        #expect(attachment.cacheFilePath == nil)
    }

    // MARK: Saving

    @Test(arguments: [
        ("report.pdf", "report.pdf", "report 1.pdf"), ("../../.bashrc", "bashrc", "bashrc 1"), ("..", "file", "file 1"),
    ])
    func aFileIsSavedUnderACleanName_andReplacesNone(name: String, first: String, second: String) async throws {
        let scene = try await KitScene()
        scene.server.on("GET", "v1/media/download/s/1", FakeAnswer(body: [1]))
        let target = folder.url.appending(path: "target")
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        let attachment = try attachment(try event("m.file", name: name), scene)
        #expect(try await attachment.save(to: target).lastPathComponent == first)
        _ = try await attachment.data()
        #expect(try await attachment.save(to: target).lastPathComponent == second)
        #expect(try FileManager.default.contentsOfDirectory(atPath: target.path).sorted() == [first, second].sorted())
        let mode = try #require(TemporaryFolder.mode(target.appending(path: first)))
        #expect(mode & 0o111 == 0)
        // The second download came from the cache.
        #expect(scene.server.requests("GET", "v1/media/download/s/1").count == 2)
    }

    @Test func nothingIsLeftOfAFileThatCouldNotBeSaved() async throws {
        let scene = try await KitScene()
        scene.server.on("GET", "v1/media/download/s/1", .error(404, "M_NOT_FOUND"))
        let attachment = try attachment(try event(), scene)
        await #expect(throws: (any Error).self) { try await attachment.save(to: self.folder.url) }
        #expect(folder.names.isEmpty)
    }
}
