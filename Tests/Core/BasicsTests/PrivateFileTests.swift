import Foundation
import TestSupport
import Testing

@testable import Basics

struct PrivateFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "private-\(UUID().uuidString)")

    private var path: String { folder.appending(path: "file").path }

    private func inFolder(_ body: () async throws -> Void) async throws {
        try Self.makeFolder(folder.path)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body()
    }

    private static func makeFolder(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    private func reason(_ body: () throws(PrivateFileError) -> Void) -> PrivateFileError.Reason? {
        do throws(PrivateFileError) {
            try body()
            return nil
        } catch {
            return error.reason
        }
    }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.appending(path: name).path, withDestinationPath: target)
    }

    @Test(arguments: [nil, 0o600, 0o644] as [mode_t?])
    func whatIsWrittenIsItsOwnersAlone_andNothingElseIsLeft(former: mode_t?) async throws {
        try await inFolder {
            let file = PrivateFile(path)
            #expect(try file.read(upTo: 10) == nil)
            if let former {
                try Data("old".utf8).write(to: URL(filePath: path))
                chmod(path, former)
            }
            try file.replace(with: Data("new".utf8))
            #expect(try file.read(upTo: 3) == Data("new".utf8))
            #expect(reason { () throws(PrivateFileError) in _ = try file.read(upTo: 2) } == .tooLarge(2))
            try file.replace(with: Data())
            #expect(try file.read(upTo: 0) == Data())
            #expect(try names == ["file"])
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
            try file.remove()
            try file.remove()
            #expect(try names == [])
        }
    }

    @Test(arguments: [0o640, 0o604, 0o620, 0o666] as [mode_t])
    func aFileThatIsOpenToOthersIsNotUsed(mode: mode_t) async throws {
        try await inFolder {
            let file = PrivateFile(path)
            try file.replace(with: Data("secret".utf8))
            chmod(path, mode)
            let error = #expect(throws: PrivateFileError.self) { _ = try file.read(upTo: 10) }
            #expect(error?.reason == .openToOthers(mode: mode))
            let words = "others can read \(path), mode \(String(mode, radix: 8)): it is not used; run chmod 600 on it"
            #expect(error?.description == words)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "needs root"))
    func anotherUsersFileIsNotUsed_norALinkOfTheirs() async throws {
        try await inFolder {
            let file = PrivateFile(path)
            try file.replace(with: Data("theirs".utf8))
            #expect(chown(path, 1, 1) == 0)
            #expect(reason { () throws(PrivateFileError) in _ = try file.read(upTo: 10) } == .anotherUsers)
            try link("theirs", to: "made")
            let theirs = folder.appending(path: "theirs").path
            #expect(lchown(theirs, 1, 1) == 0)
            let made = folder.appending(path: "made").path
            let failure = reason { () throws(PrivateFileError) in try PrivateFile(theirs).replace(with: Data()) }
            #expect(failure == .leadsElsewhere(made))
            #expect(try names == ["file", "theirs"])
        }
    }

    @Test func whatIsNotAFileIsNotUsed() async throws {
        try await inFolder {
            mkfifo(path, 0o600)
            #expect(reason { () throws(PrivateFileError) in _ = try PrivateFile(path).read(upTo: 10) } == .notAFile)
            let missing = PrivateFile(path + "/under")
            #expect(
                reason { () throws(PrivateFileError) in _ = try missing.read(upTo: 10) } == .unreadable(ENOTDIR))
            #expect(
                reason { () throws(PrivateFileError) in try missing.replace(with: Data()) } == .unwritable(ENOTDIR))
        }
    }

    // MARK: Links

    @Test(arguments: [false, true], ["kept/target", "../target", nil])
    func aLinkStaysALink_whetherItLeadsToAFileOrNot(exists: Bool, relative: String?) async throws {
        try await inFolder {
            try Self.makeFolder(folder.path + "/kept")
            try Self.makeFolder(folder.path + "/links")
            let target = relative ?? folder.path + "/kept/target"
            try link("links/last", to: target == "kept/target" ? "../kept/target" : target)
            try link("file", to: "links/last")
            let place = folder.path + (target == "../target" ? "/target" : "/kept/target")
            if exists { try PrivateFile(place).replace(with: Data("old".utf8)) }
            let file = PrivateFile(path)
            #expect(try file.read(upTo: 10) == (exists ? Data("old".utf8) : nil))
            try file.replace(with: Data("new".utf8))
            #expect(try file.read(upTo: 10) == Data("new".utf8))
            #expect(try PrivateFile(place).read(upTo: 10) == Data("new".utf8))
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "links/last")
        }
    }

    @Test func aLinkIntoAFolderWhereOthersWriteIsNotFollowed() async throws {
        try await inFolder {
            let open = folder.path + "/open"
            try Self.makeFolder(open)
            chmod(open, 0o777)
            try link("file", to: "open/target")
            let failure = reason { () throws(PrivateFileError) in try PrivateFile(path).replace(with: Data()) }
            #expect(failure == .leadsElsewhere(open + "/target"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: open) == [])
        }
    }

    @Test(arguments: [("file", ELOOP), ("missing/target", ENOENT)])
    func aLinkThatLeadsNowhereIsAnError(target: String, code: Int32) async throws {
        try await inFolder {
            try link("file", to: target)
            let failure = reason { () throws(PrivateFileError) in try PrivateFile(path).replace(with: Data()) }
            #expect(failure == .unwritable(code))
            #expect(try names == ["file"])
        }
    }

    // MARK: Failures meanwhile

    @Test func aWriterThatIsKilledLeavesTheOldDataOrTheNew() async throws {
        try await inFolder {
            let (old, new) = (Data(repeating: 1, count: 1 << 20), Data(repeating: 2, count: 1 << 20))
            try PrivateFile(path).replace(with: old)
            for _ in 0..<12 {
                let delay = Duration.microseconds(Int.random(in: 0..<30_000))
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [path = path as String, delay = delay as Duration] in
                    Thread.detachNewThread {
                        while true {
                            for byte in [UInt8](1...2) {
                                _ = try? PrivateFile(path).replace(with: Data(repeating: byte, count: 1 << 20))
                            }
                        }
                    }
                    let end = ContinuousClock.now + delay
                    while ContinuousClock.now < end {}
                    kill(getpid(), SIGKILL)
                }
                let data = try PrivateFile(path).read(upTo: 1 << 20)
                #expect(data == old || data == new)
            }
            try PrivateFile(path).replace(with: new)
            #expect(try names == ["file"])
        }
    }

    /// The draft of a live process is left alone.
    @Test func theNextWriterRemovesTheDraftsOfThoseWhoWereKilled() async throws {
        try await inFolder {
            let (dead, live) = (".\(UUID().uuidString).draft", ".\(UUID().uuidString).draft")
            let (other, open) = (".other.draft", folder.path + "/" + live)
            for name in [dead, live, other] { try Data("half".utf8).write(to: folder.appending(path: name)) }
            let lock = try FileLock(file: open)
            try PrivateFile(path).replace(with: Data())
            #expect(try names == [live, other, "file"].sorted())
            withExtendedLifetime(lock) {}
        }
    }

    @Test func writersAtTheSameTimeDoNotTakeEachOthersDraftsForOrphans() async throws {
        try await inFolder {
            let failures = Lock(0)
            DispatchQueue.concurrentPerform(iterations: 8) { number in
                for _ in 0..<50 {
                    let data = Data(repeating: UInt8(number), count: 1000)
                    if (try? PrivateFile(path).replace(with: data)) == nil { failures.withLock { $0 += 1 } }
                }
            }
            #expect(failures.withLock { $0 } == 0)
            let data = try PrivateFile(path).read(upTo: 1000)
            #expect(data?.count == 1000)
            #expect(try names == ["file"])
        }
    }

    @Test func whereABoundOnFilesIsReached_theOldDataStay() async throws {
        try await inFolder {
            try PrivateFile(path).replace(with: Data("old".utf8))
            await #expect(processExitsWith: .success) { [path = path as String] in
                signal(SIGXFSZ, SIG_IGN)
                var bound = rlimit(rlim_cur: 1000, rlim_max: .max)
                setrlimit(__rlimit_resource_t(1), &bound)  // RLIMIT_FSIZE
                let error = #expect(throws: PrivateFileError.self) {
                    try PrivateFile(path).replace(with: Data(repeating: 1, count: 5000))
                }
                #expect(error?.reason == .unwritable(EFBIG))
            }
            #expect(try PrivateFile(path).read(upTo: 10) == Data("old".utf8))
            #expect(try names == ["file"])
        }
    }

    @Test(.enabled("needs namespaces", Namespace.isPermitted))
    func whereTheDiskIsFull_theOldDataStay() async throws {
        try await inFolder {
            let failure = try await Namespace.run(
                "BasicsTests.PrivateFileTests/insideWithAFullDisk",
                prepare: "mount -t tmpfs -o size=64k,mode=700 none \(folder.path)",
                environment: ["FULL_DISK": folder.path])
            #expect(failure == nil)
        }
    }

    @Test(.enabled(if: Namespace.isInside, "runs within another test"))
    func insideWithAFullDisk() throws {
        let folder = try #require(ProcessInfo.processInfo.environment["FULL_DISK"])
        let file = PrivateFile(folder + "/file")
        let old = Data(repeating: 1, count: 30_000)
        try file.replace(with: old)
        let error = #expect(throws: PrivateFileError.self) {
            try file.replace(with: Data(repeating: 2, count: 60_000))
        }
        #expect(error?.reason == .unwritable(ENOSPC))
        #expect(try file.read(upTo: 1 << 20) == old)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["file"])
        try Namespace.pass()
    }
}
