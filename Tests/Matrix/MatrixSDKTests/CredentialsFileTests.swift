import Foundation
import MatrixProtocol
import Testing

@testable import MatrixSDK

struct CredentialsFileTests {
    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "credentials-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    private let credentials: MXCredentials = {
        var credentials = MXCredentials(homeServer: "https://s", userId: "@a:s", accessToken: "t")
        credentials.deviceId = "D"
        credentials.refreshToken = "r"
        credentials.accessTokenExpiresAt = 7
        return credentials
    }()

    @Test func whatIsWrittenIsRead_andNothingElseIsLeft() throws {
        try withFolder { folder in
            let file = try CredentialsFile(in: folder)
            #expect(try file.read() == nil)
            try file.write(MXCredentials(homeServer: "https://s", userId: "@a:s", accessToken: "old"))
            try file.write(credentials)
            #expect(try CredentialsFile(in: folder).read() == credentials)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["credentials.json"])
            try file.remove(credentials)
            #expect(try file.read() == nil)
        }
    }

    @Test func whoeverIsLateWritesNothing() throws {
        try withFolder { folder in
            let file = try CredentialsFile(in: folder)
            try file.write(credentials)
            try file.remove(credentials)
            #expect(throws: MatrixError.self) { try file.write(credentials) }
            #expect(try CredentialsFile(in: folder).read() == nil)
        }
    }

    @Test func anothersCredentialsAreNotDeleted() throws {
        try withFolder { folder in
            let file = try CredentialsFile(in: folder)
            var others = credentials
            others.deviceId = "OTHER"
            try CredentialsFile(in: folder).write(others)
            try file.remove(credentials)
            #expect(try CredentialsFile(in: folder).read() == others)
            #expect(throws: MatrixError.self) { try file.write(credentials) }
        }
    }

    @Test func aFolderIsHeldByOne() throws {
        try withFolder { folder in
            let (first, second) = (try CredentialsFile(in: folder), try CredentialsFile(in: folder))
            first.hold(try first.lock())
            #expect(throws: MatrixError.self) { _ = try second.lock() }
            _ = try first.lock()  // for its next login
            first.retire()
            _ = try second.lock()
        }
    }

    @Test(arguments: ["", "{}", "{\"userId\":\"@a:s\"}", "[1]", "{\"userId\":\"@a:s\",\"accessToken\":\"secret"])
    func damageIsAnErrorThatSaysNoSecret(text: String) throws {
        try withFolder { folder in
            let file = try CredentialsFile(in: folder)
            try write(Data(text.utf8), as: "credentials.json", in: folder)
            let error = #expect(throws: MatrixError.self) { _ = try file.read() }
            #expect(error?.message.contains("secret") == false)
        }
    }

    private func write(_ data: Data, as name: String, in folder: URL, mode: mode_t = 0o600) throws {
        let file = folder.appending(path: name)
        try data.write(to: file)
        chmod(file.path, mode)
    }

    @Test func aFileThatOthersCanReadIsNotUsed() throws {
        try withFolder { folder in
            let file = try CredentialsFile(in: folder)
            try write(try JSONEncoder().encode(credentials), as: "credentials.json", in: folder, mode: 0o644)
            let error = #expect(throws: MatrixError.self) { _ = try file.read() }
            #expect(error?.message.hasSuffix("mode 644: it is not used; run chmod 600 on it") == true)
        }
    }

    @Test func aLinkIsFollowed() throws {
        try withFolder { folder in
            let file = try CredentialsFile(in: folder)
            try FileManager.default.createSymbolicLink(
                atPath: folder.appending(path: "credentials.json").path, withDestinationPath: "elsewhere")
            try file.write(credentials)
            #expect(try file.read() == credentials)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(Set(names) == ["credentials.json", "elsewhere"])
        }
    }

    @Test func othersFoldersAreNotTaken() throws {
        try withFolder { folder in
            _ = try CredentialsFile(in: folder)
            try write(Data(), as: "file", in: folder)
            #expect(throws: MatrixError.self) { _ = try CredentialsFile(in: folder.appending(path: "file")) }
        }
        #expect(throws: MatrixError.self) { _ = try CredentialsFile(in: URL(filePath: "/tmp")) }
    }

    @Test func aFolderThatIsOpenToOthersIsClosed() throws {
        try withFolder { folder in
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            _ = try CredentialsFile(in: folder)
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o700)
        }
    }
}
