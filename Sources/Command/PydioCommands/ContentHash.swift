import Basics
import CommandKit
import Foundation
import PydioSDK

/// The MD5 of a file's content, for comparing both sides of a transfer.
struct ContentHash: Hashable, Sendable, CustomStringConvertible {
    /// The hash in lower-case hexadecimal digits.
    let description: String

    /// - Returns: `nil` if the text is not a hash.
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
    ///   - source: The source of the transfer, for messages.
    ///   - target: The result of the transfer.
    func requireEqual(_ other: ContentHash, _ source: String, _ target: String) throws(CommandFailure) {
        guard self != other else { return }
        throw CommandFailure(
            .badData, "\(target) differs from \(source): its MD5 is \(other), not \(self); it was kept as it is")
    }
}

extension PydioWorkspace {
    /// Returns the hash of a file on the server. Throws if the server does not support hashes.
    func contentHash(of path: String) async throws -> ContentHash {
        guard let stat = try await client.statWithHash(workspaceId: id, path: path) else {
            throw CommandFailure(.badData, "there is no \(remote(path))")
        }
        guard let hash = stat.contentHash.flatMap({ ContentHash($0) }) else {
            throw CommandFailure(.unavailable, "the server gives no MD5 of \(remote(path)): it cannot be verified")
        }
        return hash
    }

    /// Throws if the server does not support hashes, before sending anything that requires one.
    func requireContentHashes() async throws {
        _ = try await client.statWithHash(workspaceId: id, path: "/")
    }
}
