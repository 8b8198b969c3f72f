import CurlTransport
import Foundation
import PydioTestSupport
import TestSupport
import Testing
import Transport

/// Sections 6.6 and 6.7 of the protocol's notes.
@Suite struct FakePydioTransferTests {
    /// Bytes that differ from zeros and contain all parts of a boundary.
    private static func bytes(_ count: Int) -> [UInt8] {
        let pattern = Array("\r\n--\r\n------limi\r\n------limit".utf8.dropLast()) + (0...255)
        return (0..<count).map { pattern[$0 % pattern.count] }
    }

    private func client(_ mode: FakePydioMode = .v5_2) async throws -> RawClient {
        try await RawClient.start(.start(.init(mode: mode)))
    }

    // MARK: Upload

    @Test(arguments: [1, 41, 65_536, 65_537, 3_000_001])
    func whatIsUploadedArrivesWhole(count: Int) async throws {
        let client = try await client()
        client.server.configure { ($0.uploadLimit, $0.postLimit) = (nil, nil) }
        let bytes = Self.bytes(count)
        let answer = try await client.upload(
            bytes, ["dir": "/", "urlencoded_filename": "b", "xhr_uploader": "true", "tmp_repository_id": "0"])
        #expect(answer.xml.hasPrefix(#"<tree ><nodes_diff><add><tree is_file="true" filename="/b" text="b" "#))
        #expect(answer.attribute("bytesize") == "\(count)")
        #expect(client.server.contents(of: "/b", upTo: .max) == bytes)
        #expect(client.server.requests("upload").first?.uploadSize == count)
    }

    @Test func namesAreCleanedInSilence_andWhatHasTheNameIsReplaced() async throws {
        let client = try await client()
        try client.server.addFile("/plan.txt", [1])
        func upload(_ more: KeyValuePairs<String, String>) async throws -> String? {
            try await client.upload([2], more).attribute("filename")
        }
        #expect(
            try await upload([
                "dir": "/", "urlencoded_filename": " pl\"an.txt ", "xhr_uploader": "true", "auto_rename": "true",
            ]) == "/plan-1.txt")
        #expect(client.server.contents(of: "/plan.txt") == [1])
        #expect(
            try await upload(["dir": "/", "urlencoded_filename": "p|l?an\\.txt", "xhr_uploader": "true"]) == "/plan.txt"
        )
        #expect(client.server.contents(of: "/plan.txt") == [2])
        let hidden = try await client.upload(
            [2], ["dir": "/", "urlencoded_filename": ".hidden", "xhr_uploader": "true"])
        #expect(hidden.text == "Forbidden (411)")
    }

    @Test func whatIsEmptyOrTooLargeIsRefused() async throws {
        let client = try await client()
        client.server.configure { ($0.uploadLimit, $0.postLimit) = (1000, 5000) }
        func answer(_ count: Int) async throws -> String {
            try await client.upload(
                Self.bytes(count), ["dir": "/", "urlencoded_filename": "b", "xhr_uploader": "true"]
            ).text
        }
        #expect(try await answer(0) == "You must select a file (410)")
        #expect(try await answer(1001) == "You must select a file (410)")
        #expect(try await answer(6000).hasSuffix("<tree ></tree>"))
        #expect(client.server.paths() == [])
        let registry = try await client.get("get_xml_registry", ["xPath": "plugins"])
        #expect(registry.text.contains(#"<property name="UPLOAD_MAX_SIZE">&quot;1000&quot;</property>"#))
    }

    @Test func outputBufferingAnnouncesSmallFilesAsEmpty() async throws {
        let client = try await client()
        client.server.configure { $0.bufferSize = 4096 }
        try client.server.addFile("/a", [1, 2, 3])
        #expect(try await client.get("download", ["file": "/a"]).response.fields["Content-Length"] == "0")
        let part = try await client.get("download", ["file": "/a"], fields: ["Range": "bytes=0-"])
        #expect(part.status == 206 && part.response.body == [1, 2, 3])
        #expect(part.response.fields["Content-Range"] == "bytes 0-3/3")
    }

    @Test func withoutASwitchTheAnswerIsEmptyAndErrorsAreSilent() async throws {
        let client = try await client()
        for dir in ["/", "/no"] {
            let answer = try await client.upload([1], ["dir": dir, "urlencoded_filename": "b"])
            #expect(answer.status == 200 && answer.text.isEmpty && answer.type.hasPrefix("text/html"))
        }
        #expect(client.server.paths() == ["/b"])
        let script = try await client.upload([1], ["dir": "/", "urlencoded_filename": "b", "simple_uploader": "true"])
        #expect(script.type.hasPrefix("text/html") && script.text.contains("<script>"))
    }

    @Test func overwritingIsAnUpdateWithoutItsOriginalPath() async throws {
        let client = try await client()
        try client.server.addFile("/b", [1, 2])
        let answer = try await client.upload([1], ["dir": "/", "urlencoded_filename": "b", "force_post": "true"])
        #expect(answer.xml.hasPrefix("<tree ><nodes_diff><update><tree ") && answer.attribute("original_path") == nil)
        let other = try await client.upload(
            [3], ["dir": "/", "urlencoded_filename": "b", "xhr_uploader": "true", "auto_rename": "true"])
        #expect(other.attribute("filename") == "/b-1")
    }

    @Test func errorsArePlainTextWithANumber() async throws {
        let server = try await FakePydioServer.start(
            .init(workspaces: [FakePydioWorkspace(id: "0", slug: "a", label: "A", quota: 3)]))
        let client = try await RawClient.start(server)
        let dir = try await client.upload([1], ["dir": "/no", "urlencoded_filename": "b", "xhr_uploader": "true"])
        #expect(dir.status == 200 && dir.type.hasPrefix("text/html") && dir.text == "dir not writeable (412)")
        let quota = try await client.upload(
            [1, 2, 3, 4], ["dir": "/", "urlencoded_filename": "b", "xhr_uploader": "true"])
        #expect(quota.text.hasSuffix(" (507)"))
        let noFile = try await client.upload(
            [1], ["dir": "/", "urlencoded_filename": "b", "xhr_uploader": "true"], part: "other")
        #expect(noFile.text.hasSuffix(" (411)"))
        #expect(server.paths().isEmpty)
    }

    @Test func theNameIsDecodedTwice() async throws {
        let client = try await client()
        for name in ["100% +.txt".percentEncoded, "plain"] {
            _ = try await client.upload([1], ["dir": "/", "urlencoded_filename": name])
        }
        _ = try await client.upload([1], ["dir": "/", "urlencoded_filename": "a+b"])
        #expect(client.server.paths() == ["/100% +.txt", "/a b", "/plain"])
    }

    @Test func partsAreAppended() async throws {
        let client = try await client()
        let bytes = Self.bytes(200_000)
        for (index, part) in [bytes[..<90_000], bytes[90_000..<180_000], bytes[180_000...]].enumerated() {
            let answer = try await client.upload(
                Array(part),
                [
                    "dir": "/", "urlencoded_filename": "b.part\(index)", "appendto_urlencoded_part": "b",
                    "xhr_uploader": "true",
                ])
            #expect(answer.attribute("filename") == "/b")
        }
        #expect(client.server.paths() == ["/b"] && client.server.contents(of: "/b", upTo: .max) == bytes)
    }

    @Test func aBodyWithoutItsEndIsRefused() async throws {
        let client = try await client()
        var request = HTTPRequest(method: "POST", url: client.server.address + "/index.php?get_action=upload")
        request.fields["Content-Type"] = "multipart/form-data; boundary=limit"
        request.body = Array("--limit\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a\"\r\n\r\nx".utf8)
        let response = try await HTTPClient.send(request, options: client.networkOptions)
        #expect(response.status == 413)
    }

    // MARK: Download

    @Test func aFileComesWithItsStrangeFields() async throws {
        let client = try await client()
        try client.server.addFile("/a.txt", Array("0123456789ABCDEFGHIJ".utf8))
        let answer = try await client.post("download", ["nodes[]": "/a.txt"])
        let fields = answer.response.fields
        #expect(answer.type == #"application/force-download; name="a.txt""#)
        #expect(fields["Content-Transfer-Encoding"] == "binary" && fields["Accept-Ranges"] == "0-20")
        #expect(fields["Content-Disposition"] == #"attachment; filename="a.txt""#)
        #expect(fields["Content-Range"] == "bytes 0-19/20;" && fields["Content-Length"] == "20")
        #expect(answer.text == "0123456789ABCDEFGHIJ")
    }

    @Test func olderServersSendRangesThatAreAByteTooShort() async throws {
        for mode in FakePydioMode.allCases {
            let client = try await client(mode)
            try client.server.addFile("/a.txt", Array("0123456789ABCDEFGHIJ".utf8))
            func part(_ range: String) async throws -> RawClient.Answer {
                try await client.get("download", ["file": "/a.txt"], fields: ["Range": range])
            }
            let bounded = try await part("bytes=2-5")
            #expect(bounded.status == 206 && bounded.text == (mode == .v5_2 ? "234" : "2345"))
            #expect(bounded.type.hasPrefix("text/html"))
            let open = try await part("bytes=18-")
            #expect(open.text == "IJ" && open.response.fields["Content-Range"] == "bytes 18-20/20")
            #expect(try await part("bytes=20-").status == 416)
        }
    }

    @Test func foldersAndSeveralFilesComeAsAnArchive() async throws {
        let client = try await client()
        try client.server.addFile("/d/a.txt", [1])
        try client.server.addFile("/b.txt", [2])
        let folder = try await client.get("download", ["file": "/d"])
        #expect(folder.type == #"application/force-download; name="d.zip""#)
        #expect(folder.response.body.starts(with: [0x50, 0x4B, 3, 4]))
        let several = try await client.get("download", ["nodes[]": "/b.txt", "nodes[]": "/d"])
        #expect(several.response.fields["Content-Disposition"] == #"attachment; filename="Files.zip""#)
        let named = try await client.get("download", ["file": "/d", "archive_name": "x.zip"])
        #expect(named.type.hasSuffix(#"name="x.zip""#))
        let missing = try await client.get("download", ["file": "/no"])
        #expect(missing.xml == #"<tree ><message type="ERROR">Cannot find file!</message></tree>"#)
    }

    @Test func chunksMakeTheWholeFile() async throws {
        let client = try await client()
        let bytes = Self.bytes(100_001)
        try client.server.addFile("/a", bytes)
        let plan = try #require(
            try await client.get("prepare_chunk_dl", ["file": "/a", "chunk_count": "3"]).json as? [String: Any])
        #expect(plan["localname"] as? String == "a" && plan["chunk_count"] as? Int == 3)
        #expect(plan["chunk_size"] as? Int == 33_334 && plan["total_size"] as? Int == 100_001)
        let id = try #require(plan["file_id"] as? String)
        var all: [UInt8] = []
        for index in 0..<3 {
            all += try await client.get("download_chunk", ["file_id": id, "chunk_index": "\(index)"]).response.body
        }
        #expect(all == bytes)
    }

    @Test func largeFilesCostNoMemory() async {
        await #expect(processExitsWith: .success) {
            let client = try await RawClient.start(.start(.init(mode: .v5_2)))
            let size = 300 << 20
            try client.server.addFile("/zeros", size: size)
            let file = FileManager.default.temporaryDirectory.appending(path: "pydio-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }
            let token = client.token ?? ""
            var request = HTTPRequest(
                url: client.server.address + "/index.php?get_action=download&file=/zeros&secure_token=\(token)")
            request.fields["Cookie"] = "AjaXplorer=\(client.cookie ?? "")"
            request.maximumBodySize = size
            request.answerFile = HTTPAnswerFile(path: file.path)
            let before = try peakMemory()
            let response = try await HTTPClient.send(request, options: client.networkOptions)
            #expect(try peakMemory() - before < 32 << 20)
            #expect(response.status == 200)
            #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int == size)
        }
    }

    @Test func filesComeOverTLS() async throws {
        let authority = try await CertificateAuthority()
        var configuration = FakePydioServer.Configuration()
        configuration.tls = try await authority.issue("IP:127.0.0.1")
        let client = RawClient(try await .start(configuration))
        #expect(client.server.address.hasPrefix("https://"))
        client.networkOptions.caFile = authority.certificate
        client.token = try await client.logIn().attribute("secure_token")
        let bytes = Self.bytes(1_000_000)
        try client.server.addFile("/a", bytes)
        #expect(try await client.get("download", ["file": "/a"]).response.body == bytes)
    }
}
