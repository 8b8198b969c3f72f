import CurlTransport
import PydioProtocol
import Transport

/// A download into a file, however many requests it takes.
struct FileDownload: Sendable {
    let params: DownloadNodesRequestParams
    /// Where it goes until all is there.
    var part = PartialFile(beside: .file(URL(filePath: "/")))
    /// Whether the part stays for another call.
    var isKept = false
    /// Bytes of the file, as the server's file system says.
    var expectedSize: Int64?
    private let onProgress: (@Sendable (PydioTransferProgress) -> Void)?
    /// Bytes of the file, as the first answer says: those to requests for a part may be wrong.
    private let announcedSize = Lock<Int64?>(nil)

    init(_ params: DownloadNodesRequestParams, _ onProgress: (@Sendable (PydioTransferProgress) -> Void)?) {
        self.params = params
        self.onProgress = onProgress
    }

    /// The path of what may be a file; nil of several nodes.
    var singlePath: String? { params.nodes.count == 1 ? params.nodes.first : nil }

    /// Bytes; nil if nobody has said.
    var totalSize: Int64? { expectedSize ?? announcedSize.withLock { $0 } }

    /// For what is not there yet.
    var request: PydioRequest {
        var request = PydioRequest.download(params)
        let present = part.size
        request.answerFile = HTTPAnswerFile(path: part.path, resumes: present > 0)
        request.range = present > 0 ? "bytes=\(present)-" : nil
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
