import Basics
import CurlTransport
import PydioProtocol
import Transport

/// A download to a file, by any number of requests.
struct FileDownload: Sendable {
    let params: DownloadNodesRequestParams
    /// The partial file until the download is complete.
    private(set) var part: PartialFile
    /// Whether the part is kept for another call.
    private(set) var isKept = false
    /// The lock of a part that another call may also use.
    private(set) var lock: PartialFileLock?
    /// The file's properties on the server before its first byte arrived; `nil` if unknown.
    private(set) var version: PydioNodeStat?
    private let onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    /// Whether to request the whole file as a range: servers with output buffering announce small files as empty.
    var asksForRange = false
    /// The file's size according to an answer with the whole file: answers to range requests may be wrong.
    private let announcedSize = Lock<Int64?>(nil)

    init(
        _ params: DownloadNodesRequestParams, to target: PartialFile.Target, version: PydioNodeStat?,
        _ onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    ) {
        self.params = params
        part = PartialFile(beside: target)
        self.version = version
        self.onProgress = onProgress
    }

    /// Continues the part that an earlier call has left, and keeps its own part. Does nothing if another download is
    /// using the part.
    mutating func keepPart(beside target: PartialFile.Target, of server: ServerAddress) {
        guard let path = params.singlePath, let version,
            let time = version.mTime.flatMap({ Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) })
        else { return }
        // Other files and other versions have different names, so that parts are not mixed.
        let place = [server.normalized, params.workspaceId, path].joined(separator: "\0")
        let id = Array(Digest.sha256(Array(place.utf8)).prefix(8)).hexadecimal
        let name = "\((FileName.sanitised(path) ?? "download").prefix(80)).\(id)."
        let part = PartialFile(beside: target, name: "\(name)\(version.size)-\(time)")
        guard let lock = PartialFileLock(part) else { return }
        part.removeOthers(named: name)  // of versions that no longer exist
        (self.part, self.lock, isKept) = (part, lock, true)
    }

    /// Starts over, because the received part does not belong to the current version.
    mutating func beginAnew(with version: PydioNodeStat?) {
        part.empty()
        isKept = false  // its name belongs to another version
        self.version = version
        announcedSize.withLock { $0 = nil }
    }

    func forgetAnnouncedSize() {
        announcedSize.withLock { $0 = nil }
    }

    /// The size in bytes; `nil` if unknown. Prefers the size in the answer: the file system may report an older or
    /// newer one.
    var totalSize: Int64? { announcedSize.withLock { $0 } ?? version?.size }

    /// The request for the missing bytes.
    var request: PydioRequest {
        var request = PydioRequest.download(params)
        let present = part.size
        request.answerFile = HTTPAnswerFile(path: part.path, resumes: present > 0)
        request.range = present > 0 || asksForRange ? "bytes=\(present)-" : nil
        return request
    }

    @Sendable
    func report(_ progress: HTTPProgress) {
        if progress.receivedBefore == 0, let total = progress.totalToReceive { announcedSize.withLock { $0 = total } }
        let completed = progress.received + progress.receivedBefore
        let total = totalSize ?? progress.totalToReceive.map { $0 + progress.receivedBefore }
        onProgress?(PydioTransferProgress(completed: completed, total: total))
    }
}

extension DownloadNodesRequestParams {
    /// The path of a single node, which may be a file; `nil` for several nodes.
    var singlePath: String? { nodes.count == 1 ? nodes.first : nil }
}
