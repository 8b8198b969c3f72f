import Foundation

/// Reads the server's change log (section 10).
package enum ChangesFeed {
    /// - Parameter sequence: The number in the request.
    /// - Returns: `nil` if the log is incomplete: a failing server breaks off in the middle. The entries read so far
    ///   are then not used, since they are not in the order of their numbers.
    package static func read(_ bytes: [UInt8], after sequence: Int64) -> PydioChangesResponse? {
        if let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any],
            let rows = object["changes"]
        {
            guard let last = JSONNumber.integer(object["last_seq"]), let changes = list(rows) else { return nil }
            return response(changes, last: last, after: sequence)
        }
        return streamed(bytes, after: sequence)
    }

    /// Reads one object per line, then `LAST_SEQ:44`.
    private static func streamed(_ bytes: [UInt8], after sequence: Int64) -> PydioChangesResponse? {
        var changes: [PydioLoggedChange] = []
        for line in bytes.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespaces)
            if text.hasPrefix("LAST_SEQ:") {
                guard let last = Int64(text.dropFirst(9).trimmingCharacters(in: .whitespaces)) else { return nil }
                return response(changes, last: last, after: sequence)
            }
            guard !text.isEmpty else { continue }
            guard let row = try? JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] else { return nil }
            if let change = PydioLoggedChange(row) { changes.append(change) }
        }
        return nil
    }

    /// Reads the rows, which some database drivers number instead of listing.
    private static func list(_ rows: Any) -> [PydioLoggedChange]? {
        let values = rows as? [Any] ?? (rows as? [String: Any]).map { Array($0.values) }
        return values?.compactMap { ($0 as? [String: Any]).flatMap { PydioLoggedChange($0) } }
    }

    private static func response(
        _ changes: [PydioLoggedChange], last: Int64, after sequence: Int64
    ) -> PydioChangesResponse {
        let sorted = changes.enumerated().sorted {
            ($0.element.sequence, $0.offset) < ($1.element.sequence, $1.offset)
        }
        return PydioChangesResponse(
            changes: sorted.map(\.element), lastSequence: last, isReset: last < sequence)
    }
}

extension PydioLoggedChange {
    /// - Returns: `nil` if the row is not a valid entry.
    fileprivate init?(_ row: [String: Any]) {
        guard let sequence = JSONNumber.integer(row["seq"]), let type = row["type"] as? String,
            let kind = Kind(rawValue: type)
        else { return nil }
        self.init(
            sequence: sequence, nodeId: JSONNumber.integer(row["node_id"]), kind: kind,
            source: Self.path(row["source"]), target: Self.path(row["target"]),
            node: (row["node"] as? [String: Any]).flatMap { Node($0) })
    }

    /// Returns a path; the text `NULL` means none.
    private static func path(_ value: Any?) -> String? {
        guard let path = value as? String, path != "NULL" else { return nil }
        return path
    }
}

extension PydioLoggedChange.Node {
    /// - Returns: `nil` if nothing is known about the node.
    fileprivate init?(_ row: [String: Any]) {
        let md5 = row["md5"] as? String
        let time = JSONNumber.integer(row["mtime"])
        let path = row["node_path"] as? String  // `false` if the user may not see it
        guard md5 != nil || time != nil || path != nil else { return nil }
        let isFolder = md5 == "directory"
        self.init(
            size: JSONNumber.integer(row["bytesize"]), md5: isFolder ? nil : md5,
            mTime: time.map { Date(timeIntervalSince1970: Double($0)) }, path: path, isFolder: isFolder)
    }
}

extension AnswerRecogniser where Value == PydioChangesResponse {
    /// The change log after `sequence`.
    package static func changes(after sequence: Int64) -> Self {
        Self("the request for changes") { body in
            guard body.document == nil, body.bytes.contains(UInt8(ascii: "{")) || body.text.hasPrefix("LAST_SEQ"),
                body.mimeType != "text/html" || !body.text.hasPrefix("<")
            else { return .other }
            return ChangesFeed.read(body.bytes, after: sequence).map { .value($0) } ?? .incomplete
        }
    }
}
