import Foundation
import TestSupport
import Testing

@testable import Basics

struct FileLockTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "lock-\(UUID().uuidString)").path

    private func failure(_ body: () throws(FileLock.Failure) -> FileLock) -> FileLock.Failure? {
        do throws(FileLock.Failure) {
            _ = try body()
            return nil
        } catch {
            return error
        }
    }

    @Test func itHasOneOwner_whoIsNamed() throws {
        defer { unlink(path) }
        let lock = try FileLock(file: path)
        let failure = failure { () throws(FileLock.Failure) in try FileLock(file: path) }
        #expect(failure == .held(process: getpid()))
        #expect(failure?.owner == "this process")
        lock.release()
        _ = try FileLock(file: path)
    }

    @Test func aFolderIsLockedToo() throws {
        mkdir(path, 0o700)
        defer { rmdir(path) }
        let lock = try FileLock(folder: path)
        #expect(
            failure { () throws(FileLock.Failure) in try FileLock(folder: path) } == .held(process: getpid()))
        withExtendedLifetime(lock) {}
        #expect(
            failure { () throws(FileLock.Failure) in try FileLock(folder: path + "/none") } == .unavailable(ENOENT))
    }

    @Test func anotherProcessIsNamed_untilItIsKilled() async throws {
        defer { unlink(path) }
        let (input, output) = (Pipe(), Pipe())
        let process = try ChildProcess(
            "flock", ["--no-fork", path, "sh", "-c", "echo locked; exec cat"], input: input.fileHandleForReading,
            output: output.fileHandleForWriting)
        let line = await onThread { try? output.fileHandleForReading.read(upToCount: 6) }
        #expect(line == Data("locked".utf8))
        let failure = failure { () throws(FileLock.Failure) in try FileLock(file: path) }
        #expect(failure == .held(process: process.id))
        #expect(failure?.owner == "process \(process.id)")
        kill(process.id, SIGKILL)
        await process.status()
        _ = try FileLock(file: path)
    }

    @Test func whoeverWaitsGetsIt_orGivesUpInTime() async throws {
        defer { unlink(path) }
        let lock = try FileLock(file: path)
        let start = ContinuousClock.now
        let failure = failure { () throws(FileLock.Failure) in
            try FileLock(file: path, waiting: .milliseconds(50))
        }
        #expect(failure == .held(process: getpid()))
        #expect(ContinuousClock.now - start >= .milliseconds(50))
        async let next = Self.locks(path)
        lock.release()
        #expect(await next)
    }

    @concurrent
    private static func locks(_ path: String) async -> Bool {
        (try? FileLock(file: path, waiting: .seconds(600))) != nil
    }

    @Test func aFileThatWasReplacedIsNotTheOneThatWasLocked() throws {
        defer { unlink(path) }
        let lock = try FileLock(file: path)
        #expect(lock.isFile(at: path))
        unlink(path)
        #expect(!lock.isFile(at: path))
        let other = try FileLock(file: path)
        #expect(!lock.isFile(at: path) && other.isFile(at: path))
    }
}
