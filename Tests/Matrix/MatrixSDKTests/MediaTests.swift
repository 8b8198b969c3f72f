import Basics
import Foundation
import MatrixProtocol
import MatrixSDK
import MatrixSessionTestSupport
import MatrixTestSupport
import SwiftMatrixSDK
import TestSupport
import Testing

@Suite(.overSockets)
struct MediaTests {
    /// A temporary folder for one test.
    final class Folder {
        let url = FileManager.default.temporaryDirectory.appending(path: "media-\(UUID().uuidString)")

        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(at: url) }

        var file: URL { url.appending(path: "file") }
        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }
    }

    private static let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

    private static func server(versions: String = #"{"versions":["v1.11"]}"#) async throws -> FakeHomeserver {
        let server = try await FakeHomeserver.start()
        server.on("GET", "versions", .json(versions))
        server.on("GET", "v1/media/config", .json(#"{"m.upload.size":4000000}"#))
        server.on("POST", "/_matrix/media/v3/upload", .json(#"{"content_uri":"mxc://s/m"}"#))
        return server
    }

    // MARK: Upload

    @Test func aFileIsSentAsItIsWithItsLength() async throws {
        let server = try await Self.server()
        let folder = try Folder()
        try Data(Self.bytes).write(to: folder.file)
        let progress = Lock<[MXTransferProgress]>([])
        let uri = try await MXRestClient.make(server).uploadFile(
            folder.file, fileName: "a b/ü.png", mimeType: "image/png"
        ) { step in progress.withLock { $0.append(step) } }
        #expect(uri == "mxc://s/m")
        let request = try #require(server.requests("POST", "/_matrix/media/v3/upload").first)
        #expect(request.body == Self.bytes && request.parameter("filename") == "a b/ü.png")
        #expect(request.field("Content-Type") == "image/png" && request.field("Content-Length") == "3000000")
        #expect(request.field("Transfer-Encoding") == nil && request.token == "token")
        let steps = progress.withLock { $0 }
        #expect(steps.last?.completed == 3_000_000 && steps.allSatisfy { $0.total == 3_000_000 })
        #expect(steps.map(\.completed) == steps.map(\.completed).sorted())
    }

    @Test func aCallbackGetsProgressAndThenTheAddress() async throws {
        let server = try await Self.server()
        let seen = Lock<[String]>([])
        MXRestClient.make(server).uploadContent(Data("hello".utf8), mimeType: "text/plain") { progress in
            switch progress {
            case .progress: seen.withLock { $0.append("progress") }
            case .success(let uri): seen.withLock { $0.append(uri) }
            case .failure: seen.withLock { $0.append("failure") }
            }
        }
        #expect(await eventually { seen.withLock { $0.last == "mxc://s/m" } }, "\(seen.withLock { $0 })")
        #expect(server.requests.last?.body == Array("hello".utf8))
    }

    /// A concurrent queue runs blocks in parallel.
    @Test func theEndWaitsForTheProgress_alsoOnAConcurrentQueue() async throws {
        let server = try await Self.server()
        let (ended, ends, overtaken) = (DispatchSemaphore(value: 0), Lock(0), Lock(false))
        MXRestClient.make(server).uploadContent(Data("hello".utf8), mimeType: "text/plain") { progress in
            switch progress {
            case .progress:
                if ended.wait(timeout: .now() + .milliseconds(300)) == .success { overtaken.withLock { $0 = true } }
            case .success, .failure:
                ends.withLock { $0 += 1 }
                ended.signal()
            }
        }
        #expect(await eventually { ends.withLock { $0 } == 1 })
        #expect(!overtaken.withLock { $0 })
    }

    @Test func whatIsTooLargeForTheServerIsNotSent() async throws {
        let server = try await Self.server()
        let client = MXRestClient.make(server)
        await #expect {
            try await client.uploadContent(Data(count: 4_000_001))
        } throws: { error in
            let error = error as? MatrixError
            return error?.code == .tooLarge && error?.message.contains("4000000") == true
        }
        _ = try await client.uploadContent(Data(count: 4_000_000))
        #expect(server.requests("POST", "/_matrix/media/v3/upload").count == 1)
        #expect(server.requests("GET", "v1/media/config").count == 1)
    }

    @Test(arguments: ["", "image", "image/", "a/b\r\nX: y", "/png"]) func typesThatAreNoneAreRefused(type: String)
        async throws
    {
        let server = try await Self.server()
        await #expect {
            try await MXRestClient.make(server).uploadContent(Data(), mimeType: type)
        } throws: { ($0 as? MatrixError)?.code == .invalidArgument }
    }

    @Test func aFileThatIsNotThereIsAnError() async throws {
        let server = try await Self.server()
        await #expect {
            try await MXRestClient.make(server).uploadFile(URL(filePath: "/nowhere/x"))
        } throws: { ($0 as? MatrixError)?.code == .file }
    }

    @Test func anExpiredTokenSendsTheFileAgainFromItsStart() async throws {
        let server = try await Self.server()
        let issuer = TokenTests.Issuer(server)
        let folder = try Folder()
        try Data(Self.bytes).write(to: folder.file)
        let client = MXRestClient.make(server, token: "a1", refreshToken: "r1")
        _ = try await client.maximumUploadSize()
        issuer.expire()
        _ = try await client.uploadFile(folder.file)
        let uploads = server.requests("POST", "/_matrix/media/v3/upload")
        #expect(uploads.count == 2 && uploads.allSatisfy { $0.body == Self.bytes })
    }

    // MARK: Download

    @Test func aDownloadIsAFileWithTypeAndName() async throws {
        let server = try await Self.server()
        server.on(
            "GET", "v1/media/download/s/m",
            FakeAnswer(body: Self.bytes).with("Content-Type", "image/png")
                .with("Content-Disposition", #"inline; filename="a.png""#))
        let folder = try Folder()
        let progress = Lock<[MXTransferProgress]>([])
        let download = try await MXRestClient.make(server).downloadContent("mxc://s/m", to: folder.file) { step in
            progress.withLock { $0.append(step) }
        }
        #expect(
            download.mimeType == "image/png" && download.fileName == "a.png" && download.size == 3_000_000
                && download.file == folder.file)
        #expect(try Data(contentsOf: folder.file) == Data(Self.bytes) && folder.names == ["file"])
        #expect(server.requests.last?.token == "token")
        #expect(progress.withLock { $0.last } == MXTransferProgress.make(3_000_000, 3_000_000))
        // With the permissions of any other file of this process.
        let other = URL(filePath: folder.file.path + ".other")
        try #require(FileManager.default.createFile(atPath: other.path, contents: nil))
        let modes = try [folder.file, other].map {
            try FileManager.default.attributesOfItem(atPath: $0.path)[.posixPermissions] as? Int
        }
        #expect(modes[0] == modes[1])
    }

    @Test func aDownloadThatIsCutLeavesNoFile() async throws {
        let server = try await Self.server()
        server.on("GET", "v1/media/download/s/m", FakeAnswer(body: Self.bytes).with(.cut(after: 1000)))
        let folder = try Folder()
        await #expect {
            try await MXRestClient.make(server).downloadContent("mxc://s/m", to: folder.file)
        } throws: { ($0 as? MatrixError)?.code == .network }
        #expect(folder.names.isEmpty)
        #expect(server.requests("GET", "v1/media/download/s/m").count == MXRestClientOptions().connectionTries)
    }

    @Test func aCancelledDownloadLeavesNoFile() async throws {
        let server = try await Self.server()
        server.on("GET", "v1/media/download/s/m", .silence)
        let folder = try Folder()
        let (client, file) = (MXRestClient.make(server), folder.file)
        let task = Task { try await client.downloadContent("mxc://s/m", to: file) }
        #expect(await server.hasBeenAsked("GET", "v1/media/download/s/m"))
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? MatrixError)?.code == .cancelled }
        #expect(folder.names.isEmpty)
    }

    @Test(arguments: [true, false]) func aDownloadGoesOnWhereItWasCut(serverKnowsRanges: Bool) async throws {
        let server = try await Self.server()
        server.on("GET", "v1/media/download/s/m") { request in
            guard let range = request.field("Range") else {
                return FakeAnswer(body: Self.bytes).with(.cut(after: 1_000_000))
            }
            guard serverKnowsRanges, let start = Int(range.dropFirst(6).dropLast()) else {
                return FakeAnswer(body: Self.bytes)
            }
            var answer = FakeAnswer(status: 206, body: Array(Self.bytes[start...]))
            answer.fields = [("Content-Range", "bytes \(start)-2999999/3000000")]
            return answer
        }
        let folder = try Folder()
        try await MXRestClient.make(server).downloadContent("mxc://s/m", to: folder.file)
        #expect(try Data(contentsOf: folder.file) == Data(Self.bytes))
        #expect(server.requests("GET", "v1/media/download/s/m").count == 2)
    }

    @Test func anotherPartThanAskedForIsRefused() async throws {
        let server = try await Self.server()
        server.on("GET", "v1/media/download/s/m") { request in
            guard request.field("Range") != nil else { return FakeAnswer(body: Self.bytes).with(.cut(after: 1000)) }
            var answer = FakeAnswer(status: 206, body: Array(Self.bytes[5...]))
            answer.fields = [("Content-Range", "bytes 5-2999999/3000000")]
            return answer
        }
        let folder = try Folder()
        await #expect {
            try await MXRestClient.make(server).downloadContent("mxc://s/m", to: folder.file)
        } throws: { ($0 as? MatrixError)?.code == .file }
        #expect(folder.names.isEmpty)
    }

    @Test func errorsOfDownloadsAreTheServers() async throws {
        let server = try await Self.server()
        server.on("GET", "v1/media/download/s/m", .error(404, "M_NOT_FOUND"))
        let folder = try Folder()
        await #expect {
            try await MXRestClient.make(server).downloadContent("mxc://s/m", to: folder.file)
        } throws: { ($0 as? MXError)?.errcode == kMXErrCodeStringNotFound }
        #expect(folder.names.isEmpty)
    }

    @Test func mediaThatIsNotThereYetIsWaitedFor() async throws {
        let server = try await Self.server()
        server.on("GET", "v1/media/download/s/m", [.error(504, "M_NOT_YET_UPLOADED"), FakeAnswer(body: [1])])
        let folder = try Folder()
        #expect(try await MXRestClient.make(server).downloadContent("mxc://s/m", to: folder.file).size == 1)
    }

    @Test func downloadsAreBoundedAndTyped() async throws {
        let server = try await Self.server()
        server.on("GET", "v1/media/download/s/m", FakeAnswer(body: Self.bytes).with("Content-Type", "text/html"))
        var options = MXRestClientOptions.quick
        options.maximumDownloadSize = 2_999_999
        let folder = try Folder()
        await #expect {
            try await MXRestClient.make(server, options: options).downloadContent("mxc://s/m", to: folder.file)
        } throws: { ($0 as? MatrixError)?.code == .tooLarge }
        let client = MXRestClient.make(server)
        await #expect {
            try await client.downloadContent("mxc://s/m", to: folder.file, acceptedTypes: ["image/*"])
        } throws: { ($0 as? MatrixError)?.code == .badResponse }
        #expect(folder.names.isEmpty)
        try await client.downloadContent("mxc://s/m", to: folder.file, acceptedTypes: ["image/*", "Text/HTML"])
    }

    @Test func anotherHostNeverSeesTheToken() async throws {
        let server = try await Self.server()
        let other = try await FakeHomeserver.start()
        server.on("GET", "v1/media/download/s/m", .redirect(to: other.address + "/cdn/x?sig=1"))
        server.on("GET", "v1/media/download/s/n", .redirect(to: "/here"))
        server.on("GET", "/here", FakeAnswer(body: [2]))
        other.on("GET", "/cdn/x", FakeAnswer(body: [1]))
        let folder = try Folder()
        let client = MXRestClient.make(server)
        try await client.downloadContent("mxc://s/m", to: folder.file)
        #expect(try Data(contentsOf: folder.file) == Data([1]))
        #expect(other.requests.count == 1 && other.requests[0].token == nil)
        #expect(other.requests[0].parameter("sig") == "1")
        try await client.downloadContent("mxc://s/n", to: folder.file)
        #expect(server.requests("GET", "/here").first?.token == "token")
    }

    @Test(arguments: ["file:///etc/passwd", "https://127.0.0.1:1/", "/loop"])
    func redirectsGoOnlySoFar(target: String) async throws {
        let server = try await Self.server()
        server.on("GET", "v1/media/download/s/m", .redirect(to: target))
        server.on("GET", "/loop", .redirect(to: "/loop"))
        let folder = try Folder()
        await #expect(throws: MatrixError.self) {
            try await MXRestClient.make(server).downloadContent("mxc://s/m", to: folder.file)
        }
        #expect(
            folder.names.isEmpty && server.requests("GET", "/loop").count <= 5 * MXRestClientOptions().connectionTries)
    }

    @Test(
        arguments: [
            (#"{"versions":["v1.10"]}"#, false), (#"{"versions":["r0.6.1","v1.11"]}"#, true),
            (#"{"versions":["v1.2"],"unstable_features":{"org.matrix.msc3916.stable":true}}"#, true),
            (#"{"versions":["v2.0"]}"#, true),
        ] as [(String, Bool)])
    func onlyOldServersAreAskedTheOldWay(versions: String, isNew: Bool) async throws {
        let server = try await Self.server(versions: versions)
        server.on("GET", "v1/media/download/s/m", FakeAnswer(body: [1]))
        server.on("GET", "/_matrix/media/v3/download/s/m", FakeAnswer(body: [1]))
        let folder = try Folder()
        let client = MXRestClient.make(server)
        for _ in 0..<2 { try await client.downloadContent("mxc://s/m", to: folder.file) }
        #expect(server.requests("GET", "versions").count == 1)
        #expect(server.requests("GET", "v1/media/download/s/m").count == (isNew ? 2 : 0))
        let old = server.requests("GET", "/_matrix/media/v3/download/s/m")
        #expect(old.count == (isNew ? 0 : 2) && old.allSatisfy { $0.token == nil })
    }

    @Test func thumbnailsSayWhatTheyWant() async throws {
        let server = try await Self.server()
        server.on("GET", "v1/media/thumbnail/s/m", FakeAnswer(body: [1]))
        let folder = try Folder()
        try await MXRestClient.make(server).downloadThumbnail(
            "mxc://s/m", to: folder.file, width: 32, height: 24, method: .crop)
        let query = try #require(server.requests.last?.query.map { "\($0.name)=\($0.value)" })
        #expect(query == ["width=32", "height=24", "method=crop"])
    }

    // MARK: Names

    @Test(
        arguments: [
            "", "http://s/m", "mxc://s", "mxc://s/", "mxc:///m", "mxc://s/../m", "mxc://s/..", "mxc://s/m%2F",
            "mxc://s/m/n",
            "mxc://../m", "mxc://s/m?x", "mxc://s/m#x", "mxc://s m/n", "mxc://s/.",
        ])
    func addressesThatCouldLeadElsewhereAreRefused(uri: String) async throws {
        let server = try await Self.server()
        let folder = try Folder()
        await #expect {
            try await MXRestClient.make(server).downloadContent(uri, to: folder.file)
        } throws: { ($0 as? MatrixError)?.code == .invalidArgument }
        #expect(server.requests.isEmpty)
    }

    @Test(
        arguments: [
            (#"attachment; filename="../../etc/passwd""#, "passwd"), (#"attachment; filename="..\..\x.exe""#, "x.exe"),
            (#"attachment; filename=".bashrc""#, "bashrc"), (#"attachment; filename="..""#, nil),
            (#"attachment; filename*=UTF-8''%2e%2e%2fa%20b.txt; filename="other""#, "a b.txt"),
            (#"inline; filename="a;b\"c.txt""#, "a;b\"c.txt"), ("inline; filename=plain.txt", "plain.txt"),
            ("inline; filename*=UTF-8''na%C3%AFve.png", "naïve.png"), ("inline", nil), (#"x; filename="///""#, nil),
            ("inline; filename*=UTF-8''a%0d%0ab%00.txt", "ab.txt"),
            ("inline; filename*=UTF-8''gpj%E2%80%AE.exe", "gpj.exe"),
        ] as [(String, String?)])
    func namesOfFilesStayInTheirFolder(field: String, name: String?) async throws {
        let server = try await Self.server()
        server.on("GET", "v1/media/download/s/m", FakeAnswer(body: [1]).with("Content-Disposition", field))
        let folder = try Folder()
        let client = MXRestClient.make(server)
        let download = try await client.downloadContent("mxc://s/m", intoFolder: folder.url)
        #expect(download.fileName == name && folder.names == [name ?? "m"])
        let second = try await client.downloadContent("mxc://s/m", intoFolder: folder.url)
        #expect(second.file != download.file && folder.names.count == 2)
    }

    @Test func longNamesAreCutAtACharacter() {
        let name = FileName.sanitised(String(repeating: "ü", count: 300))
        #expect(name?.utf8.count == 200 && name?.allSatisfy { $0 == "ü" } == true)
    }
}

extension MXTransferProgress {
    static func make(_ completed: Int64, _ total: Int64?) -> MXTransferProgress {
        MXTransferProgress(completed: completed, total: total)
    }
}
