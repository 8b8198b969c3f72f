import Basics
import CurlTransport
import MatrixProtocol
import Transport

/// A download in progress, and rules for media types.
struct MediaFile: Sendable {
    typealias Target = PartialFile.Target

    private let part: PartialFile

    var path: String { part.path }

    init(beside target: Target) {
        part = PartialFile(beside: target)
    }

    /// The bytes received.
    var size: Int { part.size }

    func remove() {
        part.remove()
    }

    func removedOnFailure<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            remove()
            throw error
        }
    }

    func removedOnFailure<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            remove()
            throw error
        }
    }

    /// - Parameter name: The name in a target folder. Must not lead outside of it.
    /// - Returns: The file's new location.
    func move(to target: Target, name: String) throws(MatrixError) -> URL {
        do throws(TransportError) {
            return try part.move(to: target, name: name)
        } catch {
            throw MatrixError(error)
        }
    }

    /// Returns the size of a file in bytes.
    static func size(of file: URL) throws(MatrixError) -> Int {
        do throws(TransportError) {
            return try PartialFile.size(of: file)
        } catch {
            throw MatrixError(error)
        }
    }

    // MARK: Types

    /// Returns whether a text is a type like `image/png`, optionally with parameters.
    static func isType(_ text: String) -> Bool {
        let words = text.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
        return words.count == 2 && !words.contains { $0.isEmpty } && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// - Parameter accepted: Types, and patterns such as `image/*`; `nil` accepts all.
    static func matches(_ type: String, _ accepted: [String]?) -> Bool {
        guard let accepted else { return true }
        let name = type.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        return accepted.contains { pattern in
            pattern.hasSuffix("/*") ? name.hasPrefix(pattern.dropLast().lowercased()) : name == pattern.lowercased()
        }
    }
}

extension Homeserver {
    /// Downloads into a file, resuming where it stopped. Follows redirects, but sends the token to no other host.
    func fetch(
        _ call: APICall, token: String?, into file: MediaFile, maximumSize: Int = .max,
        _ onProgress: (@Sendable (MXTransferProgress) -> Void)?
    ) async throws -> HTTPResponse {
        let origin = try request(call, token: token)
        var request = origin
        request.fields["Accept"] = nil
        request.acceptsCompression = false  // offsets in the file must match offsets in the response
        request.stallTimeout = options.stallTimeout
        request.maximumBodySize = min(options.maximumDownloadSize, maximumSize)
        for _ in 0...5 {
            let present = file.size
            request.answerFile = HTTPAnswerFile(path: file.path, resumes: present > 0)
            request.fields["Range"] = present > 0 ? "bytes=\(present)-" : nil
            let response = try await send(request) { progress in
                let total = progress.totalToReceive.map { $0 + progress.receivedBefore }
                onProgress?(MXTransferProgress(completed: progress.received + progress.receivedBefore, total: total))
            }
            switch response.status {
            case 301, 302, 303, 307, 308:
                guard let location = response.fields["Location"], let target = Self.target(location, from: request.url)
                else { throw MatrixError(.badResponse, "the server redirects \(call.name) to where one cannot go") }
                request.url = target
                if !Self.isSameServer(target, origin.url) { request.fields["Authorization"] = nil }
            case 416 where present > 0:
                file.remove()  // our part does not match the server's file
            default: return response
            }
        }
        throw MatrixError(.badResponse, "the server redirects \(call.name) too often")
    }

    /// Returns an absolute URL; never redirects from https to http.
    private static func target(_ location: String, from url: String) -> String? {
        guard let base = URL(string: url), let target = URL(string: location, relativeTo: base)?.absoluteURL,
            let scheme = target.scheme?.lowercased(), scheme == "https" || scheme == "http",
            scheme == "https" || base.scheme?.lowercased() == "http"
        else { return nil }
        return target.absoluteString
    }

    private static func isSameServer(_ one: String, _ other: String) -> Bool {
        guard let one = URLComponents(string: one), let other = URLComponents(string: other) else { return false }
        return one.scheme?.lowercased() == other.scheme?.lowercased()
            && one.host?.lowercased() == other.host?.lowercased()
            && one.port == other.port
    }
}
