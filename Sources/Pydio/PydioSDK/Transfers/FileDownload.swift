import Basics
import CurlTransport
import PydioProtocol
import Transport

/// A download into a file, however many requests it takes.
struct FileDownload: Sendable {
    let params: DownloadNodesRequestParams
    /// Where it goes until all is there.
    private(set) var part: PartialFile
    /// Whether the part stays for another call.
    private(set) var isKept = false
    /// Of a part that may be another call's as well.
    private(set) var lock: PartialFileLock?
    /// What the server's file system said of the file before its first byte came; nil if that is not known.
    private(set) var version: PydioNodeStat?
    private let onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    /// Whether a part is asked for that is all of the file: servers with output buffering announce small files as empty.
    var asksForRange = false
    /// Bytes of the file, as an answer with all of it says: those to requests for a part may be wrong.
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

    /// Goes on with the part that a call before has left, and leaves one; nothing of this if another download is at it.
    mutating func keepPart(beside target: PartialFile.Target, of server: ServerAddress) {
        guard let path = params.singlePath, let version,
            let time = version.mTime.flatMap({ Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) })
        else { return }
        // Another file, or another version of it, has another name, so that their parts are not mixed.
        let place = [server.normalized, params.workspaceId, path].joined(separator: "\0")
        let id = Array(Digest.sha256(Array(place.utf8)).prefix(8)).hexadecimal
        let name = "\((FileName.sanitised(path) ?? "download").prefix(80)).\(id)."
        let part = PartialFile(beside: target, name: "\(name)\(version.size)-\(time)")
        guard let lock = PartialFileLock(part) else { return }
        part.removeOthers(named: name)  // of versions that are not there any more
        (self.part, self.lock, isKept) = (part, lock, true)
    }

    /// What has come is not a part of what is there now.
    mutating func beginAnew(with version: PydioNodeStat?) {
        part.empty()
        isKept = false  // its name is that of another version
        self.version = version
        announcedSize.withLock { $0 = nil }
    }

    func forgetAnnouncedSize() {
        announcedSize.withLock { $0 = nil }
    }

    /// Bytes; nil if nobody has said. What is sent counts: a file system may be behind, or ahead.
    var totalSize: Int64? { announcedSize.withLock { $0 } ?? version?.size }

    /// For what is not there yet.
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
    /// The path of what may be a file; nil of several nodes.
    var singlePath: String? { nodes.count == 1 ? nodes.first : nil }
}
