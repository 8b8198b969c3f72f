import Basics
import CurlTransport
import Foundation
import Glibc
import TestSupport
import Testing
import Transport

/// Bodies read from files and written to files.
@Suite(.overSockets)
struct FileTransferTests {
    private let options = NetworkOptions(proxy: "")
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "transfer-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// Takes a body of `size` bytes without keeping it, and answers with as many.
    private static func server(_ size: Int, last: Lock<UInt8?> = Lock(nil)) -> SocketServer {
        SocketServer { peer in
            let head = peer.readHead()
            var left = head.contains("Content-Length: ") ? size : 0
            while left > 0 {
                let bytes = peer.read(atMost: 1 << 20)
                if bytes.isEmpty { return }
                left -= bytes.count
                last.withLock { $0 = bytes.last }
            }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\nConnection: close\r\n\r\n")
            let piece = [UInt8](repeating: 7, count: 1 << 20)
            for start in stride(from: 0, to: size, by: piece.count) { peer.write(Array(piece.prefix(size - start))) }
        }
    }

    @Test func largeFilesNeedLittleMemory() async {
        await #expect(processExitsWith: .success) {
            let size = 160 << 20
            let last = Lock<UInt8?>(nil)
            let server = FileTransferTests.server(size, last: last)
            let folder = try FileTransferTests().folder
            defer { try? FileManager.default.removeItem(at: folder) }
            let source = folder.appending(path: "source")
            let target = folder.appending(path: "target")
            let handle = open(source.path, O_RDWR | O_CREAT, 0o600)
            ftruncate(handle, off_t(size))
            var one: UInt8 = 1
            pwrite(handle, &one, 1, off_t(size - 1))
            close(handle)
            var request = HTTPRequest(method: "PUT", url: "http://127.0.0.1:\(server.port)/", maximumBodySize: size)
            request.bodyFile = HTTPBodyFile(path: source.path, count: Int64(size))
            request.answerFile = HTTPAnswerFile(path: target.path)
            request.stallTimeout = .seconds(30)
            let steps = Lock<[HTTPProgress]>([])
            let before = try peakMemory()
            let response = try await HTTPClient.send(request, options: NetworkOptions(proxy: "")) { step in
                steps.withLock { $0.append(step) }
            }
            #expect(try peakMemory() - before < 32 << 20)
            #expect(response.status == 200 && response.body.isEmpty && last.withLock { $0 } == 1)
            #expect(try FileManager.default.attributesOfItem(atPath: target.path)[.size] as? Int == size)
            let seen = steps.withLock { $0 }
            #expect(seen.contains { $0.sent == Int64(size) && $0.received == 0 })
            #expect(seen.last?.received == Int64(size) && seen.last?.totalToReceive == Int64(size))
            #expect(seen.count < 1000)
        }
    }

    private func mode(_ file: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    }

    @Test func whatIsNotCompleteIsForItsOwnerAlone() async throws {
        let server = Self.server(3)
        let target = folder.appending(path: "target")
        defer { try? FileManager.default.removeItem(at: folder) }
        var request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/")
        request.answerFile = HTTPAnswerFile(path: target.path)
        _ = try await HTTPClient.send(request, options: options)
        #expect(try mode(target) == 0o600)
    }

    /// In a folder, under a new name, and in place of a link.
    @Test func aCompleteDownloadMayBeReadByWhomTheUmaskAllows() throws {
        let (new, other) = (folder.appending(path: "new"), folder.appending(path: "other"))
        defer { try? FileManager.default.removeItem(at: folder) }
        try #require(FileManager.default.createFile(atPath: other.path, contents: nil))
        let (open, link) = (folder.appending(path: "open"), folder.appending(path: "link"))
        try #require(
            FileManager.default.createFile(atPath: open.path, contents: nil, attributes: [.posixPermissions: 0o777]))
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: open.path)
        for target in [PartialFile.Target.folder(folder), .file(new), .file(link)] {
            let part = PartialFile(beside: target)
            try part.write("one")
            let file = try part.move(to: target, name: "a.txt")
            #expect(try mode(file) == mode(other))
        }
    }

    @Test(arguments: [0o600, 0o640, 0o777])
    func aDownloadKeepsTheModeOfTheFileThatItReplaces(_ former: Int) throws {
        let file = folder.appending(path: "there")
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("old".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: former], ofItemAtPath: file.path)
        let part = PartialFile(beside: .file(file))
        try part.write("new")
        #expect(try part.move(to: .file(file), name: "") == file)
        #expect(try mode(file) == former && String(contentsOf: file, encoding: .utf8) == "new")
    }

    /// Other users may be able to write to the folder.
    @Test func aPartThatBecameALinkIsNoDownload_andWhereItLeadsStaysAsItIs() throws {
        let (file, victim) = (folder.appending(path: "new"), folder.appending(path: "victim"))
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("secret".utf8).write(to: victim)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: victim.path)
        let part = PartialFile(beside: .file(file))
        try FileManager.default.createSymbolicLink(atPath: part.path, withDestinationPath: victim.path)
        #expect(throws: TransportError.self) { try part.move(to: .file(file), name: "") }
        #expect(try mode(victim) == 0o600 && !FileManager.default.fileExists(atPath: file.path))
    }

    @Test func aPartOfAFileIsSent() async throws {
        let log = Lock("")
        let server = SocketServer { peer in
            _ = peer.readHead()
            let body = peer.read(atMost: 3)
            log.withLock { $0 = String(decoding: body, as: UTF8.self) }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        let source = folder.appending(path: "source")
        try Data("0123456789".utf8).write(to: source)
        var request = HTTPRequest(method: "POST", url: "http://127.0.0.1:\(server.port)/")
        request.bodyFile = HTTPBodyFile(path: source.path, offset: 4, count: 3)
        _ = try await HTTPClient.send(request, options: options)
        #expect(log.withLock { $0 } == "456")
    }

    /// In pieces of any size, and again from the start.
    @Test func aFileIsSentWithBytesAroundIt() async throws {
        let log = Lock("")
        let server = SocketServer { peer in
            let head = peer.readHead()
            var body: [UInt8] = []
            while body.count < 200_011 {
                let bytes = peer.read()
                if bytes.isEmpty { return }
                body += bytes
            }
            let text = String(decoding: body, as: UTF8.self)
            log.withLock { $0 = "\(head.contains("Content-Length: 200011"))\(text.prefix(9))\(text.suffix(5))" }
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        let source = folder.appending(path: "source")
        try Data(("x" + String(repeating: "0", count: 200_000)).utf8).write(to: source)
        var request = HTTPRequest(method: "POST", url: "http://127.0.0.1:\(server.port)/")
        var file = HTTPBodyFile(path: source.path, offset: 1, count: 200_000)
        (file.before, file.after) = (Array("before".utf8), Array("after".utf8))
        request.bodyFile = file
        let steps = Lock<[HTTPProgress]>([])
        _ = try await HTTPClient.send(request, options: options) { step in steps.withLock { $0.append(step) } }
        #expect(log.withLock { $0 } == "truebefore000after")
        #expect(steps.withLock { $0.last?.sent } == 200_011 && steps.withLock { $0.last?.totalToSend } == 200_011)
    }

    @Test func theHeadDecidesWhetherTheFileTakesTheAnswer() async throws {
        let server = SocketServer { peer in
            let isFile = peer.readHead().contains("/file")
            let type = isFile ? "application/force-download" : "text/xml"
            peer.write("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody")
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        let target = folder.appending(path: "target")
        var request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/error", maximumBodySize: 4)
        request.answerFile = HTTPAnswerFile(path: target.path)
        request.answerFileTakes = { $0.status == 200 && $0.fields["Content-Type"] == "application/force-download" }
        request.maximumFileSize = 3
        let error = try await HTTPClient.send(request, options: options)
        #expect(error.body == Array("body".utf8) && !FileManager.default.fileExists(atPath: target.path))
        // Each transfer has its own bound.
        request.url = "http://127.0.0.1:\(server.port)/file"
        await #expect {
            try await HTTPClient.send(request, options: options)
        } throws: { ($0 as? TransportError)?.code == .tooLarge }
        (request.maximumBodySize, request.maximumFileSize) = (3, 4)
        let file = try await HTTPClient.send(request, options: options)
        #expect(file.body.isEmpty && (try? Data(contentsOf: target)) == Data("body".utf8))
    }

    @Test func filesThatCannotBeUsedAreErrors() async throws {
        let server = Self.server(10)
        defer { try? FileManager.default.removeItem(at: folder) }
        var missing = HTTPRequest(method: "POST", url: "http://127.0.0.1:\(server.port)/")
        missing.bodyFile = HTTPBodyFile(path: folder.path + "/missing", count: 1)
        var short = missing
        let source = folder.appending(path: "source")
        try Data("12345".utf8).write(to: source)
        short.bodyFile = HTTPBodyFile(path: source.path, count: 10)
        var unwritable = HTTPRequest(url: "http://127.0.0.1:\(server.port)/")
        unwritable.answerFile = HTTPAnswerFile(path: folder.path + "/no/folder")
        for request in [missing, short, unwritable] {
            await #expect {
                try await HTTPClient.send(request, options: options)
            } throws: { ($0 as? TransportError)?.code == .file }
        }
    }

    @Test func errorsDoNotGoToTheFile() async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone")
        }
        var request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/")
        let target = folder.appending(path: "target")
        defer { try? FileManager.default.removeItem(at: folder) }
        request.answerFile = HTTPAnswerFile(path: target.path)
        let response = try await HTTPClient.send(request, options: options)
        #expect(response.status == 404 && response.body == Array("none".utf8))
        #expect(!FileManager.default.fileExists(atPath: target.path))
    }

    /// Like on file systems without links; see `link(2)`.
    @Test(arguments: [EPERM, ENOTSUP, ENOSYS, EMLINK])
    func whereThereAreNoHardLinksADownloadGetsItsPlaceNevertheless(reason: Int32) throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        func download(_ content: String) throws -> URL {
            let part = PartialFile(beside: .folder(folder))
            try Data(content.utf8).write(to: URL(filePath: part.path))
            return try part.move(to: .folder(folder), name: "a.txt") { _, _ in
                errno = reason
                return -1
            }
        }
        #expect(try download("one").lastPathComponent == "a.txt")
        #expect(try download("two").lastPathComponent == "a 1.txt")
        #expect(try String(contentsOf: folder.appending(path: "a.txt"), encoding: .utf8) == "one")
        #expect(try String(contentsOf: folder.appending(path: "a 1.txt"), encoding: .utf8) == "two")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
    }

    @Test func anotherFailureOfALinkIsOneOfTheDownload() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let part = PartialFile(beside: .folder(folder))
        try Data("one".utf8).write(to: URL(filePath: part.path))
        #expect(throws: TransportError.self) {
            try part.move(to: .folder(folder), name: "a.txt") { _, _ in
                errno = EIO
                return -1
            }
        }
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "a.txt").path))
    }

    @Test func aTransferThatStandsStillFails() async throws {
        let server = SocketServer { peer in
            _ = peer.readHead()
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
            while !peer.read().isEmpty {}
        }
        var request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/")
        request.stallTimeout = .seconds(1)
        await #expect {
            try await HTTPClient.send(request, options: options)
        } throws: { ($0 as? TransportError)?.code == .timedOut }
    }

    /// 100,000 zeros, compressed.
    private static let zeros: [UInt8] = {
        let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        // Deflate's stored blocks, so that the test needs no compressor.
        var bytes = head
        var left = 100_000
        while left > 0 {
            let count = min(left, 65_535)
            left -= count
            bytes += [
                left == 0 ? 1 : 0, UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8 & 255),
            ]
            bytes += [UInt8](repeating: 0, count: count)
        }
        return bytes + [0x7D, 0x95, 0x11, 0xD4] + [0xA0, 0x86, 1, 0]
    }()

    @Test func compressedAnswersAreBoundedByWhatComesOut() async throws {
        let server = SocketServer { peer in
            let head = peer.readHead()
            guard head.lowercased().contains("accept-encoding: ") else {
                return peer.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nplain")
            }
            let size = Self.zeros.count
            peer.write(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(size)\r\nConnection: close\r\n\r\n")
            peer.write(Self.zeros)
        }
        var request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/", maximumBodySize: 100_000)
        #expect(try await HTTPClient.send(request, options: options).body == Array("plain".utf8))
        request.acceptsCompression = true
        #expect(try await HTTPClient.send(request, options: options).body == [UInt8](repeating: 0, count: 100_000))
        request.maximumBodySize = 99_999
        await #expect {
            try await HTTPClient.send(request, options: options)
        } throws: { ($0 as? TransportError)?.code == .tooLarge }
    }
}

extension PartialFile {
    /// Writes the file as a transfer leaves it.
    fileprivate func write(_ content: String) throws {
        try #require(
            FileManager.default.createFile(
                atPath: path, contents: Data(content.utf8), attributes: [.posixPermissions: 0o600]))
    }
}
