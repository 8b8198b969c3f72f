import Basics
import CommandKit
import Foundation
import PydioSDK

/// The MD5 of a file's content, to compare both sides of a transfer.
struct ContentHash: Hashable, Sendable, CustomStringConvertible {
    /// Lower-case hexadecimal digits.
    let description: String

    /// - Returns: Nil if it is none.
    init?(_ digits: String) {
        guard digits.count == 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        description = digits.lowercased()
    }

    init(of file: URL) throws(CommandFailure) {
        do {
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            description = try Digest.md5(pieces: { try handle.read(upToCount: 1 << 20).map { [UInt8]($0) } })
                .hexadecimal
        } catch {
            throw CommandFailure(.badData, "\(file.path) cannot be read to be compared")
        }
    }

    /// - Parameters:
    ///   - source: What was to be transferred, for people.
    ///   - target: What has become of it.
    func requireEqual(_ other: ContentHash, _ source: String, _ target: String) throws(CommandFailure) {
        guard self != other else { return }
        throw CommandFailure(
            .badData, "\(target) differs from \(source): its MD5 is \(other), not \(self); it was kept as it is")
    }
}

extension PydioWorkspace {
    /// Of a file at the server. Fails if the server makes none.
    func contentHash(of path: String) async throws -> ContentHash {
        guard let stat = try await client.statWithHash(workspaceId: id, path: path) else {
            throw CommandFailure(.badData, "there is no \(remote(path))")
        }
        guard let hash = stat.contentHash.flatMap({ ContentHash($0) }) else {
            throw CommandFailure(.unavailable, "the server gives no MD5 of \(remote(path)): it cannot be verified")
        }
        return hash
    }

    /// Fails if the server makes no hashes, before anything is sent that needs one.
    func requireContentHashes() async throws {
        _ = try await client.statWithHash(workspaceId: id, path: "/")
    }
}
