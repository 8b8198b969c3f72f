import Basics

/// A file that is downloaded in pieces.
struct ChunkedDownload: Sendable {
    let name: String
    let content: FileContent
    let chunkSize: Int
}

extension ServerState {
    mutating func downloadAnswer(_ action: Action, _ call: Call) -> FakePydioAnswer {
        switch action {
        case .prepareChunkDownload: prepareChunks(call)
        case .downloadChunk: chunk(call)
        case _: download(call)
        }
    }

    private func download(_ call: Call) -> FakePydioAnswer {
        guard !call.selection.isEmpty else { return .error("The selection is empty!") }
        let tree = tree(call.treeKey)
        var nodes: [(TreePath, Node)] = []
        for path in call.selection {
            guard let node = tree[path] else { return .error("Cannot find file!") }
            nodes.append((path, node))
        }
        if nodes.count == 1, let content = nodes[0].1.content {
            return attachment(nodes[0].0.name, content, range: call.request.field("Range"))
        }
        guard let file = try? ZipFile.make(nodes) else { return .error("Cannot make the archive") }
        let folder = nodes.count == 1 ? nodes[0].0.name : ""
        let name = call["archive_name"] ?? (folder.isEmpty ? "Files.zip" : folder + ".zip")
        return attachment(name, .disk(file, size: file.size), range: nil)
    }

    private func attachment(_ name: String, _ content: FileContent, range field: String?) -> FakePydioAnswer {
        let size = content.size
        let quoted = name.inField
        var fields = [
            ("Content-Transfer-Encoding", "binary"), ("Content-Disposition", "attachment; filename=\"\(quoted)\""),
            ("Accept-Ranges", "0-\(size)"),
        ]
        let type = "application/force-download; name=\"\(quoted)\""
        guard let field, size > 0 else {
            let isBuffered = size < configuration.bufferSize
            var answer = FakePydioAnswer(type: type, isBuffered ? .bytes([]) : content.body)
            // Odd, but real servers do this.
            if size > 0 { fields.append(("Content-Range", "bytes 0-\(size - 1)/\(size);")) }
            answer.fields += fields
            return answer
        }
        guard let asked = ByteRange(field, size: size) else {
            return .html("", status: 416).with("Content-Range", "bytes */\(size)")
        }
        // 5.2 sends one byte too few if the range has an end, and does not send the type.
        let isShort = mode == .v5_2 && asked.hasEnd
        let end = isShort ? asked.range.upperBound - 1 : asked.range.upperBound
        var answer = FakePydioAnswer(
            status: 206, type: "text/html; charset=UTF-8",
            content.body(asked.range.lowerBound..<max(end, asked.range.lowerBound)))
        answer.fields += fields
        // The end is counted from one, unlike the first byte.
        answer.fields.append(("Content-Range", "bytes \(asked.range.lowerBound)-\(asked.range.upperBound)/\(size)"))
        return answer
    }

    private mutating func prepareChunks(_ call: Call) -> FakePydioAnswer {
        guard let path = call.selection.first, let content = tree(call.treeKey)[path]?.content else {
            return .error("Cannot find file!")
        }
        let count = max(Int(call["chunk_count"] ?? "") ?? 1, 1)
        let size = content.size / count + (content.size % count == 0 ? 0 : 1)
        if chunkedDownloads.count >= 100 { chunkedDownloads = [:] }
        let id = Digest.random(32).lowercased()
        chunkedDownloads[id] = ChunkedDownload(name: path.name, content: content, chunkSize: max(size, 1))
        return .json(
            .object([
                ("localname", .string(path.name)), ("chunk_count", .number(count)), ("chunk_size", .number(size)),
                ("total_size", .number(content.size)), ("file_id", .string(id)),
            ]))
    }

    private func chunk(_ call: Call) -> FakePydioAnswer {
        guard let download = chunkedDownloads[call["file_id"] ?? ""], let index = Int(call["chunk_index"] ?? ""),
            index >= 0
        else { return .error("Cannot find file!") }
        let start = min(index * download.chunkSize, download.content.size)
        let end = min(start + download.chunkSize, download.content.size)
        var answer = FakePydioAnswer(
            type: "application/force-download; name=\"\(download.name.inField).\(index)\"",
            download.content.body(start..<end))
        answer.fields += [
            ("Content-Transfer-Encoding", "binary"),
            ("Content-Disposition", "attachment; filename=\"\(download.name.inField).\(index)\""),
        ]
        return answer
    }
}

/// The part of a file that a request asks for.
private struct ByteRange {
    let range: Range<Int>
    /// Whether the request specifies an end.
    let hasEnd: Bool

    /// `nil` if there is no such part.
    init?(_ field: String, size: Int) {
        guard field.hasPrefix("bytes=") else { return nil }
        let ends = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]), first >= 0, first < size else { return nil }
        hasEnd = !ends[1].isEmpty
        let last = hasEnd ? Int(ends[1]) ?? -1 : size - 1
        guard last >= first else { return nil }
        range = first..<min(last, size - 1) + 1
    }
}

extension String {
    /// The text for a quoted part of a header field, without control characters.
    fileprivate var inField: String {
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if scalar == "\"" { result.append("\\") }
            result.append(scalar.value < 0x20 || scalar.value == 0x7F ? " " : scalar)
        }
        return String(result)
    }
}
