import Foundation
import PydioProtocol
import Testing
import Transport

/// Sections 6 and 11.1 of the protocol's notes.
struct PydioRequestTests {
    private static let settings = PydioRequest.Settings(userAgent: "test")
    private static let session = RequestPass.session(cookies: "AjaXplorer=1", secureToken: "t0")

    private func make(
        _ request: PydioRequest, server: String = "https://h/pydio", as pass: RequestPass = session
    ) throws -> HTTPRequest {
        let address = try ServerAddress(#require(URL(string: server)))
        return try request.httpRequest(to: address, as: pass, Self.settings, boundary: "BOUNDARY")
    }

    @Test func parametersOfAGetAreTheQuery() throws {
        var params = ListNodesRequestParams(workspaceId: "0", path: "/Docs & Co/50% é+🙂")
        params.additional["options"] = "d"
        let request = try make(PydioRequest(.get, "ls", params))
        #expect(
            request.url
                == "https://h/pydio/index.php?dir=%2FDocs%20%26%20Co%2F50%25%20%C3%A9%2B%F0%9F%99%82&get_action=ls"
                + "&options=d&secure_token=t0&tmp_repository_id=0")
        #expect(request.method == "GET" && request.body.isEmpty && request.fields["Cookie"] == "AjaXplorer=1")
        #expect(request.fields["Ajxp-Force-Login"] == "true" && request.fields["User-Agent"] == "test")
    }

    @Test func parametersOfAPostAreItsForm() throws {
        let params = DeleteNodesRequestParams(workspaceId: "0", nodes: ["/a", "/b \"c\".txt"])
        let request = try make(PydioRequest(.post, "delete", params))
        #expect(request.url == "https://h/pydio/index.php")
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == "get_action=delete&nodes%5B%5D=%2Fa&nodes%5B%5D=%2Fb%20%22c%22.txt&secure_token=t0&tmp_repository_id=0"
        )
        #expect(request.fields["Content-Type"] == "application/x-www-form-urlencoded")
    }

    /// A long listing over a slow line continues as long as data arrives.
    @Test func timeoutsCountSilence() throws {
        let address = try ServerAddress(#require(URL(string: "https://h/pydio")))
        let settings = PydioRequest.Settings(userAgent: "test", timeout: .seconds(7), stallTimeout: .seconds(9))
        var request = PydioRequest(.get, "ls", ListNodesRequestParams(workspaceId: "0", path: "/"))
        func stallTimeout() throws -> Duration? {
            try request.httpRequest(to: address, as: Self.session, settings, boundary: "B").stallTimeout
        }
        #expect(try stallTimeout() == .seconds(7))
        request.answerFile = HTTPAnswerFile(path: "/tmp/x")
        #expect(try stallTimeout() == .seconds(9))
    }

    @Test func aPageIsEncodedTwice() throws {
        var params = ListNodesRequestParams(workspaceId: "0", path: "/docs")
        params.page = 3
        #expect(try make(PydioRequest(.get, "ls", params)).url.contains("dir=%2Fdocs%25233&"))
    }

    @Test func anUploadsNameIsEncodedTwice() throws {
        let params = UploadNodesRequestParams(workspaceId: "0", dir: "/a", fileName: "50% + é.txt")
        var request = PydioRequest(.post, "upload", params)
        request.upload = .bytes(Array("content".utf8))
        let sent = try make(request)
        #expect(sent.url.contains("urlencoded_filename=50%2525%2520%252B%2520%25C3%25A9.txt&xhr_uploader=true"))
        #expect(sent.url.contains("get_action=upload") && sent.url.contains("tmp_repository_id=0"))
        #expect(
            String(decoding: sent.body, as: UTF8.self)
                == "--BOUNDARY\r\nContent-Disposition: form-data; name=\"userfile_0\"; filename=\"upload\"\r\n"
                + "Content-Type: application/octet-stream\r\n\r\ncontent\r\n--BOUNDARY--\r\n")
        #expect(sent.fields["Content-Type"] == "multipart/form-data; boundary=BOUNDARY")
    }

    @Test func parametersOfEachKindAreTheSeeds() {
        var params = ListNodesRequestParams(workspaceId: "0", path: "/a")
        #expect(params.dictionaryRepresentation == ["tmp_repository_id": "0", "dir": "/a", "options": "al"])
        params.isRecursive = true
        (params.maxDepth, params.maxNodes, params.file, params.order) = (2, 10, "b", .size)
        #expect(
            params.dictionaryRepresentation == [
                "tmp_repository_id": "0", "dir": "/a", "options": "al", "recursive": "true", "max_depth": "2",
                "max_nodes": "10", "file": "b", "order_column": "filesize", "order_direction": "asc",
            ])
        var folder = MkDirRequestParams(workspaceId: "0", dir: "/a", dirname: "b")
        folder.additional = ["dir": "/c", "ignore_exists": "true"]
        #expect(
            folder.dictionaryRepresentation == [
                "tmp_repository_id": "0", "dir": "/c", "dirname": "b", "ignore_exists": "true",
            ])
    }

    @Test(arguments: ["/a/../b", "..", "/..", "../x", "/a/../\u{301}b"])
    func pathsThatLeadOutAreNotSent(path: String) {
        for request in [
            PydioRequest(.get, "ls", ListNodesRequestParams(workspaceId: "0", path: path)),
            PydioRequest(.post, "delete", DeleteNodesRequestParams(workspaceId: "0", nodes: ["/a", path])),
        ] {
            #expect {
                try make(request)
            } throws: { ($0 as? PydioError)?.code == .invalidArgument }
        }
    }

    /// They would be resolved on the way, and the signature of a key pair would cover another path.
    @Test(arguments: ["https://h/..", "https://h/a/../b", "https://h/./", "https://h/%2e%2E/pydio"])
    func anAddressWithSegmentsOfDotsIsRefused(address: String) throws {
        let url = try #require(URL(string: address))
        #expect { try ServerAddress(url) } throws: { ($0 as? PydioError)?.code == .invalidArgument }
    }

    @Test func dotsInNamesAreSent() throws {
        #expect(
            try make(PydioRequest(.get, "ls", ListNodesRequestParams(workspaceId: "0", path: "/a..b/...")))
                .url.contains("dir=%2Fa..b%2F..."))
    }

    @Test func zeroBytesAreNotSent() {
        #expect(throws: PydioError.self) {
            try make(PydioRequest(.get, "ls", ["dir": "/a\u{0}b"]))
        }
    }

    // MARK: The REST interface

    private static let pair = KeystoreToken(token: "Zk3QpT8xLr", key: "W7mNb2VcYs")

    @Test func aSignedRequestHasItsParametersInThePath() throws {
        let request = PydioRequest(
            .get, "changes",
            ["tmp_repository_id": "my-files", "seq_id": "42", "flatten": "true"], path: ["seq_id"])
        let nonce = "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"
        let sent = try make(request, server: "https://h", as: .signed(Self.pair, nonce: nonce))
        #expect(
            sent.url
                == "https://h/api/my-files/changes/42?flatten=true&auth_token=Zk3QpT8xLr&auth_hash=\(nonce)"
                + "%3Ac2bd7a5289b403652743b2acf53f8c7be4119b45788c660018e822b9bde0b9f7")
        #expect(sent.fields["Cookie"] == nil && sent.fields["Ajxp-Force-Login"] == nil)
    }

    @Test func aSignedPathIsEncodedAsTheServerDoes() throws {
        let params = ListNodesRequestParams(workspaceId: "0", path: "/Docs & Co/~50% é+.txt")
        let sent = try make(
            PydioRequest(.get, "ls", params, path: ["dir"]), as: .signed(Self.pair, nonce: "n"))
        #expect(sent.url.hasPrefix("https://h/pydio/api/0/ls/Docs%20%26%20Co/%7E50%25%20%C3%A9%2B.txt?"))
        #expect(sent.url.contains("auth_hash=n%3A") && !sent.url.contains("dir="))
    }

    @Test func aSignedUploadHasItsParametersInTheForm() throws {
        var request = PydioRequest(
            .post, "upload", UploadNodesRequestParams(workspaceId: "0", dir: "/a/b", fileName: "c"), path: ["dir"])
        request.restAction = ["upload", "put"]
        request.upload = .file(HTTPBodyFile(path: "/x", count: 3))
        let sent = try make(request, as: .signed(Self.pair, nonce: "n"))
        let before = String(decoding: sent.bodyFile?.before ?? [], as: UTF8.self)
        #expect(sent.url == "https://h/pydio/api/0/upload/put/a/b")
        #expect(before.contains("name=\"auth_token\"\r\n\r\nZk3QpT8xLr\r\n"))
        #expect(before.contains("name=\"urlencoded_filename\"\r\n\r\nc\r\n"))
        #expect(sent.bodyFile?.count == 3 && sent.bodyFile?.after == Array("\r\n--BOUNDARY--\r\n".utf8))
    }

    @Test func aPairIsAskedForWithThePassword() throws {
        let request = PydioRequest(.get, "keystore_generate_auth_token", ["device": "d 1"], path: ["device"])
        let sent = try make(request, as: .basic(User(userid: "ada", password: "open sesame")))
        #expect(sent.url == "https://h/pydio/api/pydio/keystore_generate_auth_token/d%201")
        #expect(sent.fields["Authorization"] == "Basic " + Data("ada:open sesame".utf8).base64EncodedString())
    }

    @Test func whatIsNotInThePathOfSuchARequestIsItsQuery() throws {
        let request = PydioRequest(.get, "keystore_generate_auth_token", ["device": "d", "a": "b c"], path: ["device"])
        let sent = try make(request, as: .basic(User(userid: "ada", password: "open sesame")))
        #expect(sent.url == "https://h/pydio/api/pydio/keystore_generate_auth_token/d?a=b%20c")
    }

    // MARK: Addresses

    @Test(
        arguments: [
            ("https://h", "https://h/", "https://h", "/", "h"),
            ("http://h:8080/a/b/", "http://h:8080/a/b/", "http://h:8080", "/a/b/", "h:8080/a/b"),
            ("http://[::1]:80/p", "http://[::1]:80/p/", "http://[::1]:80", "/p/", "[::1]:80/p"),
        ] as [(String, String, String, String, String)])
    func addressesAreFolders(
        text: String, normalized: String, origin: String, path: String, channel: String
    ) throws {
        let address = try ServerAddress(#require(URL(string: text)))
        #expect(address.normalized == normalized && address.origin == origin)
        #expect(address.path == path && address.channelName == channel)
    }

    @Test(arguments: ["ftp://h", "/path", "https://", "https://u:p@h/", "https://h/?a=b", "https://h/#a"])
    func otherAddressesAreRefused(text: String) {
        #expect {
            try ServerAddress(URL(string: text) ?? URL(filePath: "/"))
        } throws: { error in
            (error as? PydioError)?.code == .invalidArgument && !"\(error)".contains("u:p")
        }
    }
}
