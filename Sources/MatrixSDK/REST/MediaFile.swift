import Glibc
import MatrixProtocol
import Transport

/// A download on its way: a hidden file in the folder where it is to be, so that it can be renamed at the end.
struct MediaFile: Sendable {
    enum Target: Sendable {
        case file(URL)
        case folder(URL)
    }

    let path: String

    init(beside target: Target) {
        let folder: URL
        switch target {
        case .file(let file): folder = file.deletingLastPathComponent()
        case .folder(let url): folder = url
        }
        path = folder.appending(path: ".\(UUID().uuidString).part").path
    }

    /// How much has come.
    var size: Int { (try? Self.size(of: URL(filePath: path))) ?? 0 }

    func remove() {
        unlink(path)
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

    /// - Parameter name: For folders. Must be one that cannot lead elsewhere.
    /// - Returns: Where the file is now.
    func move(to target: Target, name: String) throws(MatrixError) -> URL {
        switch target {
        case .file(let file):
            guard rename(path, file.path) == 0 else { throw failure() }
            return file
        case .folder(let folder):
            for number in 0..<10_000 {
                let file = folder.appending(path: Self.numbered(name, number))
                // Unlike renaming, this never replaces a file.
                if link(path, file.path) == 0 {
                    remove()
                    return file
                }
                guard errno == EEXIST else { throw failure() }
            }
            throw MatrixError(.file, "the folder has too many files of this name; the download was not kept")
        }
    }

    private static func numbered(_ name: String, _ number: Int) -> String {
        guard number > 0 else { return name }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "\(name) \(number)" }
        return "\(name[..<dot]) \(number)\(name[dot...])"
    }

    private func failure() -> MatrixError {
        MatrixError(.file, "the download cannot be put into its place: \(String(cString: strerror(errno)))")
    }

    /// Bytes of a file.
    static func size(of file: URL) throws(MatrixError) -> Int {
        var status = stat()
        guard stat(file.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw MatrixError(.file, "\(file.path) is not a file that can be read")
        }
        return Int(status.st_size)
    }

    // MARK: Types

    /// Whether a text is a type like `image/png`, with parameters perhaps.
    static func isType(_ text: String) -> Bool {
        let words = text.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
        return words.count == 2 && !words.contains { $0.isEmpty } && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// - Parameter accepted: Types, and all of a kind as `image/*`; nil is all.
    static func matches(_ type: String, _ accepted: [String]?) -> Bool {
        guard let accepted else { return true }
        let name = type.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        return accepted.contains { pattern in
            pattern.hasSuffix("/*") ? name.hasPrefix(pattern.dropLast().lowercased()) : name == pattern.lowercased()
        }
    }
}

extension Homeserver {
    /// Downloads into a file, on from where it is. Follows redirects, but shows the token to no other host.
    func fetch(
        _ call: APICall, token: String?, into file: MediaFile,
        _ onProgress: (@Sendable (MXTransferProgress) -> Void)?
    ) async throws -> HTTPResponse {
        let origin = try request(call, token: token)
        var request = origin
        request.fields["Accept"] = nil
        request.acceptsCompression = false  // places in the file are places in what is sent
        request.stallTimeout = options.stallTimeout
        request.maximumBodySize = options.maximumDownloadSize
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
                file.remove()  // what is here is not what is there
            default: return response
            }
        }
        throw MatrixError(.badResponse, "the server redirects \(call.name) too often")
    }

    /// Absolute; never from https to http.
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
